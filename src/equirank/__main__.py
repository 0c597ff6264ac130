"""Run the command line as ``python -m equirank``."""

from .cli.app import main

if __name__ == "__main__":
    main()
