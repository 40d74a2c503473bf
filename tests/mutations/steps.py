"""The steps of an admission, its hold and its leash: left out, put in another order, or made blind."""

from __future__ import annotations

from tests.mutations.mutation import Mutation
from tests.mutations.places import (
    ADMISSION,
    ADMITTED,
    ANNOUNCING,
    ATTEMPT,
    CHILDREN,
    CLOCKS,
    FAULTS,
    HOLD,
    LEASES,
    LEASH,
    LEASH_TESTS,
    LEASHED,
    LEASHED_TESTS,
    OBJECTS,
    PLACES,
    REFUSALS,
    SETTLING,
    STUCK,
    TWO,
)

MUTATIONS = [
    Mutation(
        "S5 removed: no reservation",
        ANNOUNCING,
        "    attempt.reserved, attempt.announced = (name, None), attempt.clock.monotonic()\n",
        "    attempt.announced = attempt.clock.monotonic()\n    return {}\n",
        (PLACES, ADMITTED),
    ),
    Mutation(
        "S5 after the count",
        ADMISSION,
        "        announce(attempt)  # S5\n"
        "        if not was_submitted(attempt):  # S6: look up ...\n"
        "            count(attempt)  # ... then count\n",
        "        attempt.announced = attempt.clock.monotonic()\n"
        "        if not was_submitted(attempt):\n"
        "            count(attempt)\n"
        "            announce(attempt)\n",
        (PLACES,),
    ),
    Mutation(
        "S6's look-up removed",
        ANNOUNCING,
        "    return sweep(attempt, attempt.census.traces())\n",
        "    return False\n",
        (TWO, ADMITTED),
    ),
    Mutation("S7 removed", ADMISSION, "            prove(attempt)  # S7\n", "", (TWO, LEASES)),
    Mutation(
        "S7 without the 30 s since S5",
        ADMISSION,
        "attempt.clock.monotonic() - attempt.announced > attempt.rules.times.announce_to_fence",
        "False",
        (TWO,),
    ),
    Mutation(
        "uid dropped in the PUT",
        OBJECTS,
        'meta |= {"uid": before.uid, "resourceVersion": before.version}',
        'meta |= {"resourceVersion": before.version}',
        (TWO, FAULTS),
    ),
    Mutation(
        "resourceVersion dropped in the PUT",
        OBJECTS,
        'meta |= {"uid": before.uid, "resourceVersion": before.version}',
        'meta |= {"uid": before.uid}',
        (TWO,),
    ),
    Mutation("at the ceiling: > for >=", ANNOUNCING, "if places >= ceiling:", "if places > ceiling:", (PLACES,)),
    Mutation(
        "the leash's clock ignored",
        LEASH,
        "if self.deadline is not None and self.now() >= self.deadline:",
        "if False:",
        (LEASH_TESTS, LEASHED_TESTS),
    ),
    Mutation(
        "the leash's pipe ignored",
        LEASH,
        '            self.why = "its holder is gone"\n            return\n',
        "            os.dup2(os.pipe()[0], 0)\n            return\n",
        (LEASH_TESTS, CHILDREN),
    ),
    Mutation(
        "the leash starts a command too late",
        LEASH,
        "if within is not None and Leash.now() >= since + within:",
        "if False:",
        (LEASH_TESTS, LEASHED_TESTS),
    ),
    Mutation(
        "S9: the reservation goes before the look-up",
        SETTLING,
        "    if found_after_quiet(attempt):\n",
        "    attempt.unreserve()\n    if found_after_quiet(attempt):\n",
        (TWO,),
    ),
    Mutation(
        "S9: no quiet after a kill",
        SETTLING,
        "times.quiet_after_kill if attempt.exit_code == KILLED else times.quiet_after_exit",
        "times.quiet_after_exit",
        (FAULTS,),
    ),
    Mutation(
        "S9: no quiet at all",
        SETTLING,
        "    attempt.rest(times.quiet_after_kill",
        "    attempt.rest(0 * times.quiet_after_kill",
        (FAULTS, ADMITTED),
    ),
    Mutation(
        "S9: success without a finalizer gives its place back",
        SETTLING,
        "        keep_reservation(attempt)\n",
        "        attempt.unreserve()\n",
        (ADMITTED,),
    ),
    Mutation(
        "S10 and S11 swapped",
        ADMISSION,
        "    attempt.leave_line()  # S10\n",
        "    attempt.hold.release()\n    attempt.leave_line()\n",
        (TWO,),
    ),
    Mutation(
        "S11 left out on the way to the back of the line",
        ADMISSION,
        "            attempt.leave_line()\n        return attempt.verdict(back.outcome",
        "            attempt.leave_line()\n            attempt.unsettled = True\n"
        "        return attempt.verdict(back.outcome",
        (FAULTS,),
    ),
    Mutation(
        "S11 left out after a refusal or a full quota",
        ADMISSION,
        "        attempt.leave_line()\n        outcome, reason = road_of(error)\n",
        "        attempt.leave_line()\n        attempt.unsettled = True\n        outcome, reason = road_of(error)\n",
        (REFUSALS,),
    ),
    Mutation(
        "S11 left out when it is interrupted",
        ADMISSION,
        "            attempt.unreserve()\n            hold.release()\n",
        "            attempt.unreserve()\n",
        (STUCK,),
    ),
    Mutation(
        "the gate given back although nothing is settled",
        ADMISSION,
        "    if not attempt.unsettled:\n",
        "    if True:\n",
        (FAULTS,),
    ),
    Mutation(
        "no test in the heartbeat's patch",
        HOLD,
        'self.cluster.patch("leases", self.name, self.mine_then("renewTime", self.server_now()))',
        'self.cluster.patch("leases", self.name, self.mine_then("renewTime", self.server_now())[1:])',
        (TWO, ADMITTED),
    ),
    Mutation(
        "no test in S7's patch",
        HOLD,
        '        write = self.mine_then("renewTime", self.server_now())\n',
        '        write = self.mine_then("renewTime", self.server_now())[1:]\n',
        (TWO, LEASES),
    ),
    Mutation(
        "no test in the release's patch",
        HOLD,
        '        write = self.mine_then("holderIdentity", "")\n',
        '        write = self.mine_then("holderIdentity", "")[1:]\n',
        (TWO, LEASES),
    ),
    Mutation(
        "own clock in renewTime", HOLD, "return self.clock.wall() + self.offset", "return self.clock.wall()", (CLOCKS,)
    ),
    Mutation(
        "expiry by own clock",
        HOLD,
        "if not gate.is_open(answer.date,",
        "if not gate.is_open(self.clock.wall(),",
        (CLOCKS, STUCK),
    ),
    Mutation(
        "a lost answer is not asked for again",
        HOLD,
        "        except (Unanswered, Throttled) as error:\n",
        "        except Throttled as error:\n",
        (FAULTS,),
    ),
    Mutation(
        "a lost gate does not stop the submit",
        SETTLING,
        "if attempt.lost or clock.monotonic() > end:",
        "if clock.monotonic() > end:",
        (f"{TWO}::test_a_holder_that_lost_its_lock_stops_its_work",),
    ),
    Mutation(
        "no cap on the submit",
        SETTLING,
        "if attempt.lost or clock.monotonic() > end:",
        "if attempt.lost:",
        (f"{ADMITTED}::test_a_submit_past_its_cap_is_killed",),
    ),
    Mutation(
        "an answer that is no yes feeds the leash",
        ATTEMPT,
        "        if self.hold.sent == before:\n            return\n",
        "",
        (TWO,),
    ),
    Mutation(
        "a failing report stops the submit",
        ATTEMPT,
        "        except Exception:  # the caller's database may be down\n",
        "        except ZeroDivisionError:\n",
        (ADMITTED,),
    ),
    Mutation(
        "the controls are not read at S6", ANNOUNCING, "if controls.stop(attempt.what.party):", "if False:", (ADMITTED,)
    ),
    Mutation(
        "a count that fails admits",
        ANNOUNCING,
        "    raise Back(Outcome.BACK, Reason.CAPACITY_COUNT_ERROR, str(failure)) from failure\n",
        "    return 0, Controls()\n",
        (FAULTS, REFUSALS),
    ),
    Mutation(
        "an end by a signal is an end like any other",
        LEASHED,
        "return code == LAPSED or code < 0 or 128 < code <= 128 + 64",
        "return False",
        (LEASHED_TESTS,),
    ),
    Mutation(
        "a kill that does not wait",
        LEASHED,
        "            self.process.wait(self.times.kill)\n",
        "            pass\n",
        (LEASHED_TESTS, CHILDREN),
    ),
]
