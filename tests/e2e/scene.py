"""What the tests' pods and Services look like unless a test says otherwise."""

LABELS = {"app": "web"}
PORTS = {"http": 8080}
# Of every agent that is not told another.
SETTLE_SECONDS = 1
# Controllers that lost their server come back after a growing pause of up to half a minute.
RECONNECT_SECONDS = 60


def address(number):
    """A made-up pod address, another one for every number up to 65,000; 10.1.0.1 for 1."""
    return f"10.1.{number // 256}.{number % 256}"
