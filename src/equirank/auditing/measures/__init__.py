"""What an audit measures beside the public metrics: places, shares of attention, selections."""
