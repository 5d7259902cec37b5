package io.leasehold.verify.variants;

import java.util.List;

/** Those of the line of waiters at a Redis server: the string that it is, and who is served from it. */
final class LineVariants {

    private static final String QUEUE = "redis/wire/shared/queue.lua";
    private static final String VERSION = "redis/wire/shared/version.lua";
    private static final String ACQUIRE = "redis/wire/acquire.lua";
    private static final String RELEASE = "redis/wire/release.lua";

    private LineVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "place-of-a-longer-owner",
                        "an owner token that begins like another is taken for it",
                        QUEUE,
                        "text:find('\\n' .. waiter .. ' ', base, true)",
                        "text:find('\\n' .. waiter, base, true)"),
                new Variant(
                        "place-in-a-holder-id",
                        "an owner token in the holder id of another is taken for a place",
                        QUEUE,
                        "text:find('\\n' .. waiter .. ' ', base, true)",
                        "text:find(waiter .. ' ', base, true)"),
                new Variant(
                        "ended-once",
                        "who is in the queue twice stays in it once",
                        QUEUE,
                        "while from do",
                        "if from then"),
                new Variant(
                        "line-break-in-a-holder-id",
                        "what stands behind a line break in a holder id is another waiter",
                        ACQUIRE,
                        "([^\\n]*)')",
                        "(.*)')"),
                new Variant(
                        "last-again-at-each-request",
                        "who asks again goes to the end of the queue",
                        QUEUE,
                        "  replace(from or #text + 1, to or #text, entry)\n",
                        "  if from then replace(from, to, '') end\n  replace(#text + 1, #text, entry)\n"),
                new Variant(
                        "written-beside-its-place",
                        "who asks again is written one byte beside its place",
                        QUEUE,
                        "digits(from - 1), entry",
                        "digits(from), entry"),
                new Variant(
                        "head-over-a-waiter",
                        "a head of another length is written over the first waiter",
                        QUEUE,
                        " and base == #head() + 1",
                        ""),
                new Variant(
                        "place-stays-after-the-end",
                        "an owner token that is ended keeps its place",
                        RELEASE,
                        "  forget(owner)\n",
                        ""),
                new Variant(
                        "place-stays-beside-the-lock",
                        "who takes a free lock keeps its place",
                        ACQUIRE,
                        "  forget(owner)\n  write_queue()\n  return",
                        "  write_queue()\n  return"),
                new Variant("dead-stay", "who counts as dead stays", QUEUE, "ends <= now and ", "ends <= 0 and "),
                new Variant(
                        "dead-without-a-bound",
                        "all that count as dead are dropped in one step",
                        QUEUE,
                        " and dropped < 64",
                        ""),
                new Variant(
                        "deaf-without-a-bound",
                        "all that nobody listens for are skipped in one step",
                        QUEUE,
                        "for _ = 1, 64 do",
                        "for _ = 1, 6400 do"),
                new Variant(
                        "dead-looked-for-too-late",
                        "a shorter place than the others' counts as long as theirs",
                        QUEUE,
                        "soonest, latest = math.min(soonest, alive), math.max",
                        "soonest, latest = math.min(soonest, latest), math.max"),
                new Variant(
                        "dead-never-looked-for-again",
                        "after a look for the dead there is none",
                        QUEUE,
                        "elseif ends < soonest then",
                        "elseif ends < 0 then"),
                new Variant(
                        "queue-ends-with-the-shortest-place",
                        "the queue expires while some wait",
                        QUEUE,
                        "math.max(latest, alive)",
                        "alive"),
                new Variant(
                        "woken-for-ever",
                        "who is woken and does not come keeps its place",
                        QUEUE,
                        "if tonumber(alive) > now + WINDOW then",
                        "if tonumber(alive) < 0 then"),
                new Variant(
                        "wake-up-lengthens",
                        "a wake-up lengthens a place",
                        QUEUE,
                        "if tonumber(alive) > now + WINDOW then",
                        "if tonumber(alive) > 0 then"),
                new Variant(
                        "handed-to-the-deaf",
                        "a lock that was handed to somebody who does not listen stays that one's",
                        QUEUE,
                        "  ours = true\n  local attempt",
                        "  local attempt"),
                new Variant(
                        "fence-of-the-first-token",
                        "the fence ends with the first of the tokens that are handed over",
                        QUEUE,
                        "put(FENCE, digits(last)",
                        "put(FENCE, digits(first)"),
                new Variant(
                        "handed-and-deleted",
                        "what was handed over is deleted as the releaser's",
                        QUEUE,
                        "ours, handed = false, true",
                        "handed = true"),
                new Variant(
                        "foreign-type-written-over",
                        "a key of another type is written over",
                        QUEUE,
                        "'PX', ms, 'NX')",
                        "'PX', ms)"),
                new Variant(
                        "foreign-type-shortened",
                        "a key of another type gets an end while memory is full",
                        QUEUE,
                        "if is_new and redis.call('EXISTS', key) == 1 then",
                        "if false then"),
                new Variant(
                        "memory-refuses-a-hand-over",
                        "what needs no memory is not written before what does",
                        QUEUE,
                        "    redis.call('PEXPIRE', key, ms)\n",
                        ""),
                new Variant(
                        "any-version-is-ours",
                        "a queue of another version is read as one of ours",
                        VERSION,
                        "'^2 (%d+) (%d+)()'",
                        "'^%d+ ?(%d*) ?(%d*)()'"),
                new Variant(
                        "version-is-not-told",
                        "a queue of another version is told as a key of another program",
                        VERSION,
                        "if version and version ~= '2' and",
                        "if version == '2' and"),
                new Variant(
                        "another-version-written-over",
                        "a queue of another version is written over by the next that waits",
                        ACQUIRE,
                        "if not read_queue() then",
                        "if not read_queue() and not queued then"),
                new Variant(
                        "confirmation-shortens",
                        "a confirmation shortens the time that a lock has left",
                        ACQUIRE,
                        "math.max(tonumber(ARGV[2]), redis.call('PTTL', LOCK))",
                        "tonumber(ARGV[2])"));
    }
}
