package io.leasehold.verify.variants;

import java.util.List;

/** Variants of the hand-over to a named candidate. */
final class SuccessorVariants {

    private static final String SCRIPT = "redis/wire/name_successor.lua";
    private static final String NAME = "memory/NameState.java";
    private static final String NAMING = "engine/SuccessorNaming.java";
    private static final String CANDIDACY = "engine/RunningCandidacy.java";

    private SuccessorVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "successor-of-a-former-holder",
                        "a late copy changes the order of the next holder's queue",
                        SCRIPT,
                        "if not value or value:sub(1, 41) ~= ARGV[1] .. ':' then",
                        "if not value then"),
                new Variant(
                        "successor-of-a-former-holder-in-memory",
                        "a late copy changes the order of the next holder's queue",
                        NAME,
                        "        if (current == null || !current.owner().equals(request.owner())) {\n            return new SuccessorReply.NotOurs",
                        "        if (current == null) {\n            return new SuccessorReply.NotOurs"),
                new Variant(
                        "successor-with-two-places",
                        "a successor from behind the front keeps its former place, and is served twice",
                        SCRIPT,
                        "  leave_behind(waiter)\n",
                        ""),
                new Variant(
                        "successor-with-two-places-in-front",
                        "a successor keeps its former place in the front, and is served twice",
                        SCRIPT,
                        "  replace(from, to, '')\n",
                        ""),
                new Variant(
                        "successor-is-a-reader",
                        "a reader is put before the writers",
                        SCRIPT,
                        "    if kind == '' and id == holder and tonumber(alive) > now then\n      return text",
                        "    if id == holder and tonumber(alive) > now then\n      return text"),
                new Variant(
                        "successor-is-a-reader-in-memory",
                        "a reader is put before the writers",
                        NAME,
                        "if (!waiter.getValue().reads() && waiter.getValue()",
                        "if (waiter.getValue()"),
                new Variant(
                        "successor-only-in-front",
                        "a successor that stands behind the front is not found",
                        SCRIPT,
                        "behind > 0 and SOUGHT - 1 or -1",
                        "-1"),
                new Variant(
                        "successor-is-silent",
                        "a waiter that is silent is put before those that are alive",
                        NAME,
                        "        dropSilentWaiters(nowNanos);\n        return putFirst",
                        "        return putFirst"),
                new Variant(
                        "successor-takes-the-queue",
                        "the other waiters lose their order",
                        NAME,
                        "waiters.forEach(ordered::putIfAbsent);",
                        "waiters.entrySet().stream().sorted(java.util.Comparator.comparing(w -> -w.getValue().sinceAtNanos()))"
                                + ".forEach(w -> ordered.putIfAbsent(w.getKey(), w.getValue()));"),
                new Variant(
                        "successor-keeps-the-lock",
                        "a leader keeps the lock for as long as the store does not say who comes first",
                        NAMING,
                        "repetition.failed(untilAtNanos - context.runtime().nanoTime())",
                        "repetition.failed(Long.MAX_VALUE)"),
                new Variant(
                        "successor-named-once",
                        "a request whose reply was lost is not repeated",
                        NAMING,
                        "!(reply instanceof SuccessorReply.Failed failed && failed.kind() != FailureKind.PERMANENT);",
                        "true;"),
                new Variant(
                        "successor-throws",
                        "a store that throws instead of replying leaves the lock held",
                        NAMING,
                        "        } catch (RuntimeException | Error e) {\n            answered(null);\n        }",
                        "        } finally {\n            repetition.isEnded();\n        }"),
                new Variant(
                        "successor-loses-to-the-process",
                        "the lock is passed on within the process although another candidate was named",
                        CANDIDACY,
                        "                lease.keepForOthers();\n",
                        ""),
                new Variant(
                        "successor-that-does-not-wait",
                        "a hand-over to a candidate that does not wait is reported as one",
                        CANDIDACY,
                        "if (Boolean.TRUE.equals(isFirst)) {",
                        "if (isFirst != null) {"),
                new Variant(
                        "successor-named-again",
                        "the last of several names counts, though another caller was promised the first",
                        "engine/RunningTerm.java",
                        "if (!releasing && successor == null) {",
                        "if (!releasing) {"));
    }
}
