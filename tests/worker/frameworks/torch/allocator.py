"""What torch's allocator of the cpu was asked for in a call, by torch's profiler."""

from itertools import accumulate

from torch.profiler import ProfilerActivity, profile


def high_water(call):
    """(the most bytes that were live at once, the bytes of the result), beside what was there before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        result = call()
    events = [event for event in profiled.profiler.kineto_results.events() if event.name() == "[memory]"]
    live = [0, *accumulate(event.nbytes() for event in sorted(events, key=lambda event: event.start_ns()))]
    del result
    return max(live), live[-1]
