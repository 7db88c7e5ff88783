"""`python -m segapsith`."""

from segapsith.cli import main

if __name__ == "__main__":
    main()
