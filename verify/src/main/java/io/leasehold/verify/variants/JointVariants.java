package io.leasehold.verify.variants;

import java.util.List;

/**
 * Variants of simultaneous requests of many callers: how their calls are sent together, and the scripts that answer
 * them.
 */
final class JointVariants {

    private static final String CALLS = "redis/topology/JointCalls.java";
    private static final String ACQUIRES = "redis/wire/acquire_many.lua";
    private static final String ACQUIRE = "redis/wire/acquire_free.lua";
    private static final String RELEASE = "redis/wire/release_held.lua";
    private static final String RELEASES = "redis/wire/release_many.lua";

    private JointVariants() {}

    static List<Variant> calls() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "answer-of-another-call",
                        "of several calls each receives the reply to the next one",
                        CALLS,
                        "reply.get(head + i)",
                        "reply.get(head + (i + 1) % all.size())"),
                new Variant(
                        "refused-for-all",
                        "a refusal of several calls together is reported to each of them",
                        CALLS,
                        "all.forEach(WaitingCall::runAlone);",
                        "all.forEach(waiting -> waiting.hear(null, error));"),
                new Variant(
                        "declined-is-done",
                        "a call that was not carried out together with others is reported as done",
                        CALLS,
                        "if (one.common.isDecidedBy(its)) {",
                        "if (head > 0) {"),
                new Variant(
                        "lost-is-sent-again",
                        "a call that is lost with the connection is sent again alone",
                        CALLS,
                        "all.forEach(waiting -> waiting.hear(null, error));",
                        "all.forEach(WaitingCall::runAlone);"),
                new Variant(
                        "declined-alone-is-done",
                        "a call outside the common case receives the reply of the common case",
                        CALLS,
                        "} else if (DECLINED.equals(reply)) {",
                        "} else if (DECLINED == reply) {"),
                new Variant(
                        "requests-of-a-name-swapped",
                        "a call joins a script that was created before an earlier call about the same lock was sent",
                        CALLS,
                        " || overtaken.contains(lock)",
                        ""),
                new Variant(
                        "joined-before-it-leaves",
                        "a call joins a script that has no place on the connection yet",
                        CALLS,
                        "unwritten.add(batch);\n        }",
                        "unwritten.add(batch);\n            open.put(common.several(), batch);\n        }"),
                new Variant(
                        "joined-after-it-is-written",
                        "a call joins a script whose bytes are already encoded",
                        CALLS,
                        "open.remove(together, this);",
                        ""),
                new Variant(
                        "twice-in-one-script",
                        "a lock occurs twice in one script",
                        CALLS,
                        "if (present.lock().equals(lock)) {",
                        "if (present == waiting) {"),
                new Variant(
                        "late-batch-after-an-undo",
                        "a call that was given up is sent alone after it was declined together",
                        CALLS,
                        "boolean still = wanted.getAsBoolean();",
                        "boolean still = wanted.getAsBoolean() || true;"),
                new Variant(
                        "script-without-a-bound",
                        "a script for several calls has no maximum length",
                        CALLS,
                        "calls.size() >= MAX_CALLS",
                        "calls.size() >= 10 * MAX_CALLS"),
                new Variant(
                        "slots-together",
                        "on a Cluster calls of different slots are sent as one script",
                        CALLS,
                        "slot != itsSlot || ",
                        ""));
    }

    static List<Variant> scripts() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "one-stops-all",
                        "a refusal of one of several locks ends the script",
                        ACQUIRES,
                        "local try = redis.pcall",
                        "local try = redis.call"),
                new Variant(
                        "stale-among-several",
                        "a ballot that does not beat the fence is granted among others",
                        ACQUIRES,
                        "candidate > fence and ",
                        ""),
                new Variant(
                        "old-among-several",
                        "a ballot below TIME - retention is granted among others",
                        ACQUIRES,
                        "candidate > now - RETENTION and ",
                        ""),
                new Variant(
                        "beyond-the-bound-among-several",
                        "a ballot beyond the limit is granted among others",
                        ACQUIRES,
                        "candidate <= (fence > now and fence or now) + BOUND\n      and ",
                        ""),
                new Variant(
                        "foreign-lock-among-several",
                        "a lock of another type is overwritten",
                        ACQUIRES,
                        "ARGV[i], 'PX', ARGV[i + 1], 'NX')",
                        "ARGV[i], 'PX', ARGV[i + 1])"),
                new Variant(
                        "foreign-fence-among-several",
                        "a fence of another type is overwritten",
                        ACQUIRES,
                        "ARGV[i + 2], 'PX', ms, 'NX')",
                        "ARGV[i + 2], 'PX', ms)"),
                new Variant(
                        "lock-stays-without-a-fence",
                        "a lock whose fence cannot be written stays taken",
                        ACQUIRES,
                        "try('DEL', KEYS[i])",
                        "answer = 0"),
                new Variant(
                        "queue-of-a-neighbour",
                        "the first lock's queue counts for all",
                        ACQUIRES,
                        "not values[i + 2]",
                        "not values[3]"),
                new Variant(
                        "release-of-any-owner",
                        "of several locks those of other owners are deleted, too",
                        RELEASES,
                        "value:sub(1, #ours) == ours",
                        "value"),
                new Variant(
                        "release-past-the-queue",
                        "of several locks those with waiters are deleted",
                        RELEASES,
                        "not values[2 * i] and ",
                        ""),
                new Variant(
                        "release-below-the-ballot",
                        "of several locks those are deleted whose highest ballot is above their token",
                        RELEASES,
                        "value:sub(1, #ours) == ours",
                        "value:sub(1, 41) == ours:sub(1, 41)"),
                new Variant(
                        "stale-while-free",
                        "a free lock is granted for a ballot that does not beat the fence",
                        ACQUIRE,
                        "candidate > fence and ",
                        ""),
                new Variant(
                        "old-while-free",
                        "a free lock is granted for a ballot below TIME - retention",
                        ACQUIRE,
                        "candidate > now - 60000000 and ",
                        ""),
                new Variant(
                        "beyond-the-bound-while-free",
                        "a free lock is granted for a ballot beyond the limit",
                        ACQUIRE,
                        "candidate <= (fence > now and fence or now) + 7500000\n  and ",
                        ""),
                new Variant(
                        "foreign-lock-while-free",
                        "a lock of another type is overwritten as if it were free",
                        ACQUIRE,
                        "ARGV[1], 'PX', ARGV[2], 'NX')",
                        "ARGV[1], 'PX', ARGV[2])"),
                new Variant(
                        "foreign-fence-while-free",
                        "a fence of another type is overwritten for a free lock",
                        ACQUIRE,
                        "ARGV[3], 'PX', ms, 'NX')",
                        "ARGV[3], 'PX', ms)"),
                new Variant(
                        "taken-without-a-fence",
                        "a free lock whose fence cannot be written stays taken",
                        ACQUIRE,
                        "  call('DEL', KEYS[1])\n",
                        ""),
                new Variant(
                        "taken-past-the-queue",
                        "a free lock with waiters is acquired",
                        ACQUIRE,
                        "found[1] or found[3]",
                        "found[1]"),
                new Variant(
                        "fence-expires-early",
                        "the fence of a token ahead of the clock expires as if the token were not ahead",
                        ACQUIRE,
                        "candidate > now and math.ceil((candidate + 60000000 - now) / 1000) or '60000'",
                        "'60000'"),
                new Variant(
                        "release-of-whatever-is-held",
                        "a lock of another owner is deleted",
                        RELEASE,
                        "value:sub(1, #ours) == ours",
                        "ours"),
                new Variant(
                        "released-past-the-queue", "a lock with waiters is deleted", RELEASE, "not found[2] and ", ""),
                new Variant(
                        "released-below-the-ballot",
                        "a lock is deleted though the highest ballot of its owner is above its token",
                        RELEASE,
                        "value:sub(1, #ours) == ours",
                        "value:sub(1, 41) == ours:sub(1, 41)"));
    }
}
