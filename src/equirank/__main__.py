"""Run the command line: ``equirank``, or ``python -m equirank``."""

import sys
import traceback

__all__ = ["main"]


def main() -> None:
    """Run the command line; an interrupt while its modules are imported is one line, too.

    If they cannot be imported, the exit code is that of a fault.
    """
    try:
        from .cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("equirank: interrupted\n")
        sys.exit(130)
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        sys.exit(70)
    run()


if __name__ == "__main__":
    main()
