"""`python -m confide` is the command `confide`."""

from .cli import main

if __name__ == "__main__":
    main()
