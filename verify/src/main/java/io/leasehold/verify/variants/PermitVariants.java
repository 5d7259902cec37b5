package io.leasehold.verify.variants;

import java.util.List;

/** Those of permits: at the node in memory, in the engine, and in the scripts. */
final class PermitVariants {

    private static final String MEMORY = "memory/InMemoryPermits.java";
    private static final String STORE = "node/SingleNodeStore.java";
    private static final String NODE = "redis/node/RedisPermits.java";
    private static final String QUEUES = "engine/LocalQueues.java";
    private static final String ACQUIRE = "redis/wire/permits_acquire.lua";
    private static final String RELEASE = "redis/wire/permits_release.lua";
    private static final String RENEW = "redis/wire/permits_renew.lua";
    private static final String CHANGE = "redis/wire/permits_change.lua";
    private static final String SERVE = "redis/wire/shared/serve_permits.lua";
    private static final String END = "redis/wire/shared/end_owner.lua";
    private static final String RECORD = "redis/wire/shared/permits.lua";
    private static final String LOCKS = "spi/toolkit/PermitsByLocks.java";
    private static final String WALK = "spi/toolkit/SlotWalk.java";
    private static final String ROUNDS = "engine/PermitRounds.java";

    private PermitVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "permits-no-look-for-own",
                        "a second ballot of an owner token takes the lowest free slot, although it holds another",
                        MEMORY,
                        "List<Integer> slots = state.slotsOf(request.owner());\n        if (slots.isEmpty()) {",
                        "List<Integer> slots = List.of();\n        if (slots.isEmpty()) {"),
                new Variant(
                        "permits-late-copy",
                        "a ballot need not exceed the fence of all slots",
                        MEMORY,
                        "step.unacceptable(ballot, fenceOf(state), fenceOf(state), incarnation);",
                        "step.unacceptable(ballot, fenceOf(state), 0, incarnation);"),
                new Variant(
                        "permits-end-raises-nothing",
                        "the end of an owner token does not raise the fence",
                        MEMORY,
                        "Math.max(state.line.fence, Math.min(request.ballot(), most));",
                        "Math.max(state.line.fence, Math.min(0, most));"),
                new Variant(
                        "permits-overtake",
                        "a caller takes a free slot although others wait before it",
                        MEMORY,
                        "slots = state.line.isFirst(request.owner()) ? state.lowestFree(ballot.reserve()) : List.of();",
                        "slots = state.lowestFree(ballot.reserve());"),
                new Variant(
                        "permits-any-count",
                        "a client with another count is served",
                        MEMORY,
                        "state.count > 0 && state.count != name.permitCount()",
                        "state.count < 0"),
                new Variant(
                        "permits-below-those-served",
                        "a caller is granted a ballot below the tokens of the waiters that were served before it",
                        MEMORY,
                        "if (ballot.candidate() <= fenceOf(state)) {",
                        "if (ballot.candidate() < 0) {"),
                new Variant(
                        "permits-hidden-slot",
                        "a waiter that was only woken hides further free slots from those behind it",
                        MEMORY,
                        "        serve(name.asPermits(), state, null, step);\n        return new",
                        "        return new"),
                new Variant(
                        "permits-reused-version",
                        "a count that a client has set has the version of another one",
                        MEMORY,
                        "state.version = state.count;",
                        "state.version = 1;"),
                new Variant(
                        "permits-any-version",
                        "an operator changes a count that another one has changed meanwhile",
                        MEMORY,
                        "if (state.version != version) {",
                        "if (state.version < 0) {"),
                new Variant(
                        "permits-any-number-from-a-message",
                        "a waiter begins with fewer or more slots than it wants",
                        STORE,
                        "return slots.size() == number && tokens",
                        "return tokens"),
                new Variant(
                        "permits-any-tokens-from-a-message",
                        "a waiter begins with slots that have no token each",
                        STORE,
                        " && tokens.last() - tokens.first() == number - 1;",
                        ";"),
                new Variant(
                        "permits-any-slot-from-a-message",
                        "a waiter begins with one slot twice, or with one beyond the count",
                        STORE,
                        "if (slot <= previous || slot >= name.permitCount()) {",
                        "if (slot > LockName.MAX_PERMITS) {"),
                new Variant(
                        "permits-any-count-from-a-message",
                        "a waiter begins although the store keeps another count than it states",
                        STORE,
                        "name.permitCount() == given.name().permitCount() && areWanted",
                        "areWanted"),
                new Variant(
                        "permits-of-a-lock-from-a-message",
                        "a waiter for a lock begins from a message that names slots",
                        STORE,
                        ": given.slots().isEmpty();",
                        ": true;"),
                new Variant(
                        "permits-message-without-slots",
                        "the node in memory hands permits over, and does not name their slots",
                        MEMORY,
                        "\n                    .ofSlots(slots);",
                        ";"),
                new Variant(
                        "permits-script-message-without-slots",
                        "the script hands permits over, and does not name their slots",
                        SERVE,
                        "handed_by(channel, ':' .. table.concat(slots, ',') .. '/' .. digits(count))",
                        "handed_by(channel)"),
                new Variant(
                        "permits-script-message-of-one-slot",
                        "the script names the first of several slots",
                        SERVE,
                        "table.concat(slots, ',')",
                        "digits(slots[1])"),
                new Variant(
                        "permits-script-message-of-later",
                        "the time in the message is later than that from which the claim counts",
                        SERVE,
                        "attempt_of(waiter) .. ' ' .. digits(now) .. ' ' .. range",
                        "attempt_of(waiter) .. ' ' .. digits(now + 1000) .. ' ' .. range"),
                new Variant(
                        "permits-by-a-name-of-before",
                        "a script names the server that the connection led to when it was made",
                        NODE,
                        "request, call.checking(life))",
                        "request, call.checking(LifeCheck.CONNECTION))"),
                new Variant(
                        "permits-count-behind-another",
                        "a caller with another count waits behind one of its process",
                        QUEUES,
                        " || expectsAnotherCount(attempt)",
                        ""),
                new Variant(
                        "permits-one-listens",
                        "a hand-over is offered to the first caller of a process only, although one with another count"
                                + " waits",
                        QUEUES,
                        "        if (name.isPermits()) {\n            return ask(name, List.of()",
                        "        if (name == null) {\n            return ask(name, List.of()"),
                new Variant(
                        "permits-script-no-look-for-own",
                        "the script gives a second slot to an owner token that holds one",
                        ACQUIRE,
                        "local own = slots_of(owner)",
                        "local own"),
                new Variant(
                        "permits-short-own",
                        "the common case gives a second slot to an owner token that holds one",
                        ACQUIRE,
                        "is_plain = is_plain and of ~= owner and ends > now and",
                        "is_plain = is_plain and ends > now and"),
                new Variant(
                        "permits-short-late-copy",
                        "the common case compares a ballot with no fence",
                        ACQUIRE,
                        "and fence and candidate > fence and last",
                        "and fence and last"),
                new Variant(
                        "permits-short-bound",
                        "the common case grants a ballot far ahead of the clock",
                        ACQUIRE,
                        " and last <= math.max(fence, now) + BOUND then\n    local text",
                        " then\n    local text"),
                new Variant(
                        "permits-short-any-count",
                        "the common case serves a client with another count",
                        ACQUIRE,
                        "count = value == ARGV[6] .. ' ' .. ARGV[6] and stated",
                        "count = stated"),
                new Variant(
                        "permits-short-beyond",
                        "the common case gives a slot beyond the count",
                        ACQUIRE,
                        "if is_plain and count and slot < count and fence",
                        "if is_plain and count and fence"),
                new Variant(
                        "permits-short-expiry",
                        "the common case lets the record expire with the hold that was granted last",
                        ACQUIRE,
                        "      latest_end = math.max(latest_end, ends)\n",
                        ""),
                new Variant(
                        "permits-short-overtake",
                        "the common case passes the clients that wait",
                        ACQUIRE,
                        "if not queued and candidate == last",
                        "if candidate == last"),
                new Variant(
                        "permits-short-end-raises-nothing",
                        "the common case of a release does not raise the fence to a higher ballot",
                        RELEASE,
                        "if is_plain and own and fence and ballot <= fence then",
                        "if is_plain and own and fence then"),
                new Variant(
                        "permits-short-end-of-one",
                        "the common case of a release frees one of several slots",
                        RELEASE,
                        " and not (of == owner and own)",
                        ""),
                new Variant(
                        "permits-short-end-serves-none",
                        "the common case of a release hands no slot to the clients that wait",
                        RELEASE,
                        "if not queued then\n  local all",
                        "if true then\n  local all"),
                new Variant(
                        "permits-script-late-copy",
                        "the script compares a ballot with no fence",
                        ACQUIRE,
                        "local floor = math.max(fence, now - RETENTION)",
                        "local floor = now - RETENTION"),
                new Variant(
                        "permits-script-any-count",
                        "the script serves a client with another count",
                        ACQUIRE,
                        "if count > 0 and count ~= stated then",
                        "if count < 0 then"),
                new Variant(
                        "permits-script-below-served",
                        "the script grants a ballot below the tokens of the waiters that it has served before",
                        ACQUIRE,
                        "if slots and candidate <= fence then",
                        "if slots and candidate < 0 then"),
                new Variant(
                        "permits-script-used-name",
                        "the script uses a name whose exclusive lock is in use",
                        ACQUIRE,
                        "if count == 0 and redis.call",
                        "if count < 0 and redis.call"),
                new Variant(
                        "permits-script-counts-a-used-name",
                        "an operator counts the permits of a name whose exclusive lock is in use",
                        CHANGE,
                        "if version == 0 and redis.call",
                        "if version < 0 and redis.call"),
                new Variant(
                        "permits-script-reused-version",
                        "a count that a client has set has the version of another one",
                        ACQUIRE,
                        "count, version = stated, stated",
                        "count, version = stated, 1"),
                new Variant(
                        "permits-script-hidden-slot",
                        "a waiter that was only woken hides further free slots from those behind it",
                        ACQUIRE,
                        "  serve_permits('')\n",
                        ""),
                new Variant(
                        "permits-script-end-raises-nothing",
                        "the script leaves the fence as it was at the end of an owner token",
                        END,
                        "if raised > math.max(fence, now - RETENTION) then",
                        "if raised < 0 then"),
                new Variant(
                        "permits-script-serves-nobody",
                        "a released slot is not handed to the first waiter",
                        RELEASE,
                        "  serve_permits('')\n",
                        ""),
                new Variant(
                        "permits-script-revives",
                        "a renewal extends a hold that has ended",
                        RENEW,
                        "if owner and tonumber(ends) > now then",
                        "if owner then"),
                new Variant(
                        "permits-script-any-version",
                        "an operator changes a count that another one has changed meanwhile",
                        CHANGE,
                        "if version ~= tonumber(ARGV[2]) then",
                        "if version < 0 then"),
                new Variant(
                        "permits-script-unheard",
                        "a slot stays with a waiter that could not be notified",
                        SERVE,
                        "held[slot], outworn[digits(slot)] = nil, true",
                        "held[slot] = held[slot]"),
                new Variant(
                        "permits-script-ended-hold",
                        "a hold that has ended keeps its slot",
                        RECORD,
                        "elseif tonumber(ends) > now then",
                        "elseif tonumber(ends) > 0 then"),
                new Variant(
                        "permits-locks-place-in-queues",
                        "an attempt keeps its place at each slot while it asks the next one, and is granted several",
                        LOCKS,
                        ".nodeTimeout(request.nodeTimeoutNanos());",
                        ".nodeTimeout(request.nodeTimeoutNanos()).waiting(request.recheckNanos());"),
                new Variant(
                        "permits-locks-unknown-slot",
                        "an attempt asks for another slot before it has ended the one whose reply was lost",
                        LOCKS,
                        "return before == null ? asked.walk(-1) : asked.afterTheEndOf(before);",
                        "return asked.walk(before == null ? -1 : before.lock().slot());"),
                new Variant(
                        "permits-locks-unanswered-end",
                        "an end that was not answered is forgotten, so its repetition ends nothing",
                        LOCKS,
                        "if (!(reply instanceof ReleaseReply.Failed)) {",
                        "if (reply != null) {"),
                new Variant(
                        "permits-locks-ended-token",
                        "a walk uses the owner tokens of the last one, which the store may still be ending",
                        LOCKS,
                        "description(), OwnerToken.draw(runtime), firstSlot)",
                        "description(), request.owner(), firstSlot)"),
                new Variant(
                        "permits-locks-one-token",
                        "all slots are requested with one owner token",
                        WALK,
                        "return new Ask(lock, lock.bound(drawn));",
                        "return new Ask(lock, new SlotLock(permits, first).bound(drawn));"),
                new Variant(
                        "permits-locks-any-count",
                        "an attempt meets a holder with another count, and asks the next slot",
                        WALK,
                        "stated.getAsInt() != permits.permitCount()",
                        "stated.getAsInt() < 0"),
                new Variant(
                        "permits-locks-busy-too-soon",
                        "the first slot that is busy ends the walk",
                        WALK,
                        "return busy < permits.permitCount() ? ask()",
                        "return busy < 0 ? ask()"),
                new Variant(
                        "permits-fewer-than-wanted",
                        "a request for several permits is granted those that are free, although they are too few",
                        "memory/PermitsState.java",
                        "return free.size() == number ? free : List.of();",
                        "return free;"),
                new Variant(
                        "permits-one-of-several-ends",
                        "an operator frees one slot of a holder of several, whose other slots are still renewed",
                        MEMORY,
                        "state.slotsOf(removed.owner()).forEach(state.held::remove);",
                        "state.held.remove(slot);"),
                new Variant(
                        "permits-script-one-of-several-ends",
                        "the end of an owner token frees one of its slots",
                        RECORD,
                        "return own[1] and own",
                        "return own[1] and {own[1]}"),
                new Variant(
                        "permits-script-blocked-by-a-lowered-count",
                        "a waiter that wants more slots than there are now blocks those behind it",
                        SERVE,
                        "if waits and tonumber(reserve) > count then",
                        "if waits and count < 0 then"),
                new Variant(
                        "permits-several-held-while-waiting",
                        "an attempt on several permits holds the first ones while it waits for more",
                        ROUNDS,
                        "return new Take(0);",
                        "return new Take(patienceLeftNanos(nowNanos));"),
                new Variant(
                        "permits-several-kept-when-busy",
                        "an attempt on several permits keeps those that it took when another one is busy",
                        "engine/MultiPermitAttempt.java",
                        "            parts.giveBack(false);\n",
                        ""),
                new Variant(
                        "permits-several-in-step",
                        "two clients that met in a round meet in every other one, since their pauses are equal",
                        ROUNDS,
                        "leastNanos + WaitPolicy.scaled(leastNanos, random)",
                        "leastNanos"),
                new Variant(
                        "permits-several-ended-part",
                        "a permit that ended while the others were taken is handed out with them",
                        ROUNDS,
                        "leastLeftNanos >= Math.max(1, timings.minimumValidityNanos())",
                        "leastLeftNanos >= 0"),
                new Variant(
                        "permits-several-any-failure",
                        "an attempt on several permits repeats a request that no retry helps",
                        ROUNDS,
                        "isTransient && taken > 0",
                        "error != null && taken > 0"),
                new Variant(
                        "permits-several-kept-late",
                        "an interrupted caller does not wait for a permit that its attempt has just received",
                        "engine/MultiPermitAttempt.java",
                        "CompletableFuture.allOf(waiting.giveUp(), kept)",
                        "waiting.giveUp()"));
    }
}
