"""Run the command line: ``equirank``, or ``python -m equirank``."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; an interrupt while its modules are imported is one line, too."""
    try:
        from .cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("equirank: interrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
