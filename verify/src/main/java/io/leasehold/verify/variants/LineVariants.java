package io.leasehold.verify.variants;

import java.util.List;

/** Those of the line of waiters at a Redis server: the string that it is, and who is served from it. */
final class LineVariants {

    private static final String QUEUE = "redis/wire/shared/queue.lua";
    private static final String SERVE = "redis/wire/shared/serve.lua";
    private static final String JOIN = "redis/wire/shared/join.lua";
    private static final String LEAVE = "redis/wire/shared/behind.lua";
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
                        "place-stays-after-the-end",
                        "an owner token that is ended keeps its place",
                        RELEASE,
                        "  forget(owner)\n",
                        ""),
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
                        SERVE,
                        "for _ = 1, 64 do",
                        "for _ = 1, 6400 do"),
                new Variant(
                        "dead-never-looked-for-again",
                        "after a look for the dead there is none",
                        QUEUE,
                        "elseif ends < soonest then",
                        "elseif ends < 0 then"),
                new Variant(
                        "woken-for-ever",
                        "who is woken and does not come keeps its place",
                        SERVE,
                        "if tonumber(alive) > now + WINDOW then",
                        "if tonumber(alive) < 0 then"),
                new Variant(
                        "wake-up-lengthens",
                        "a wake-up lengthens a place",
                        SERVE,
                        "if tonumber(alive) > now + WINDOW then",
                        "if tonumber(alive) > 0 then"),
                new Variant(
                        "handed-to-the-deaf",
                        "a lock that was handed to a waiter that does not listen stays that waiter's",
                        SERVE,
                        "  ours = true\n  local attempt",
                        "  local attempt"),
                new Variant(
                        "fence-of-the-first-token",
                        "the fence ends with the first of the tokens that are handed over",
                        SERVE,
                        "put(FENCE, digits(last)",
                        "put(FENCE, digits(first)"),
                new Variant(
                        "fence-ends-after-the-hand-over",
                        "the fence of a hand-over is kept for no retention",
                        SERVE,
                        "(math.max(last, now) + RETENTION - now)",
                        "(math.max(last, now) + 1000 - now)"),
                new Variant(
                        "handed-and-deleted",
                        "what was handed over is deleted as the releaser's",
                        SERVE,
                        "ours, handed = false, true",
                        "handed = true"),
                new Variant(
                        "foreign-type-written-over",
                        "a key of another type is written over",
                        QUEUE,
                        "option, ms, 'NX')",
                        "option, ms)"),
                new Variant(
                        "foreign-type-shortened",
                        "a key of another type gets an end while memory is full",
                        QUEUE,
                        "if is_new and ",
                        "if false and "),
                new Variant(
                        "memory-refuses-a-hand-over",
                        "what needs no memory is not written before what does",
                        QUEUE,
                        "('PEXPIRE', key, ms)",
                        "('EXISTS', key)"),
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
                        "last-again-at-each-request",
                        "who asks again goes to the end of the queue",
                        JOIN,
                        "  local from, to = place_of(waiter)\n",
                        "  local from, to = place_of(waiter)\n  if from then\n    replace(from, to, '')\n    from = nil\n  end\n"),
                new Variant(
                        "written-beside-its-place",
                        "who asks again is written one byte beside its place",
                        JOIN,
                        "digits(from - 1), entry",
                        "digits(from), entry"),
                new Variant(
                        "longer-line-over-the-next",
                        "who asks again with other words is written over its neighbour",
                        JOIN,
                        "elseif to - from + 1 == #entry then",
                        "elseif to then"),
                new Variant(
                        "place-stays-beside-the-lock",
                        "who takes a free lock keeps its place",
                        ACQUIRE,
                        "    forget(owner)\n    write_queue()\n    return",
                        "    write_queue()\n    return"),
                new Variant(
                        "dead-looked-for-too-late",
                        "a shorter place than the others' counts as long as theirs",
                        JOIN,
                        "  soonest = math.min(soonest, alive)\n",
                        "  soonest = math.min(soonest, latest)\n"),
                new Variant(
                        "shorter-place-behind-the-bound",
                        "a shorter place than the others' is written without its bound",
                        JOIN,
                        "soonest <= alive and alive <= latest",
                        "alive <= latest"),
                new Variant(
                        "longer-place-beyond-the-end",
                        "a longer place than the others' is written without its end",
                        JOIN,
                        "soonest <= alive and alive <= latest",
                        "soonest <= alive"),
                new Variant(
                        "bound-stays-behind",
                        "the dead are looked for at each request once one could have died",
                        QUEUE,
                        "soonest, outdated = math.huge, true",
                        "soonest = math.huge"),
                new Variant(
                        "queue-ends-with-the-shortest-place",
                        "the queue expires while some wait",
                        JOIN,
                        "  if alive > latest then\n",
                        "  do\n"),
                new Variant(
                        "any-version-is-ours",
                        "a queue of another version is read as one of ours",
                        VERSION,
                        "'^2 (%d+) (%d+) (%d+)()'",
                        "'^%d+ ?(%d*) ?(%d*) ?(%d*)()'"),
                new Variant("front-without-a-bound", "nobody stands behind", JOIN, " or #text - base >= FRONT", ""),
                new Variant(
                        "front-before-those-behind",
                        "who is new stands in front while others stand behind",
                        JOIN,
                        "(behind > 0 or ",
                        "("),
                new Variant(
                        "behind-for-ever",
                        "who stands behind never comes forward",
                        QUEUE,
                        "if base > #text and behind > 0 then",
                        "if false then"),
                new Variant(
                        "empty-beside-those-behind",
                        "a queue without a front counts as empty",
                        QUEUE,
                        "return base > #text and behind == 0",
                        "return base > #text"),
                new Variant(
                        "forward-and-behind",
                        "who comes forward stays behind as well",
                        QUEUE,
                        "  if refusal or not try('ZREM', BEHIND, unpack(members)) then",
                        "  if refusal then"),
                new Variant(
                        "forward-and-wanted",
                        "what was asked for stays behind when its waiter comes forward",
                        QUEUE,
                        "  try('HDEL', WANTED, unpack(owners))\n",
                        ""),
                new Variant(
                        "dead-come-forward",
                        "who counts as dead comes forward",
                        QUEUE,
                        "if alive and tonumber(alive) > now then",
                        "if alive then"),
                new Variant(
                        "forward-without-a-bound",
                        "when those who come forward count as dead is not looked for",
                        QUEUE,
                        "      soonest = math.min(soonest, tonumber(alive))\n",
                        ""),
                new Variant(
                        "behind-ends-with-a-step",
                        "those behind a whole step are forgotten",
                        QUEUE,
                        "  if #owners < STEP then\n",
                        "  do\n"),
                new Variant(
                        "ended-in-front-alone",
                        "an owner token that is ended keeps its place behind",
                        RELEASE,
                        "    leave_behind(owner)\n",
                        ""),
                new Variant(
                        "ended-beside-what-it-wanted",
                        "what an ended owner token asked for stays",
                        LEAVE,
                        "try('HDEL', WANTED, waiter)",
                        ""),
                new Variant(
                        "lost-front-comes-back",
                        "who stood behind a lost front stands behind the next",
                        JOIN,
                        "local foreign = behind == 0 and",
                        "local foreign = false and"),
                new Variant(
                        "foreign-keys-deleted",
                        "a key of another type is deleted for those behind",
                        JOIN,
                        "if kind == wanted then",
                        "if kind ~= 'none' then"),
                new Variant(
                        "order-lost-for-ever",
                        "who was lost from the order of those behind never comes back",
                        JOIN,
                        "'a' .. waiter) == 0",
                        "'a' .. waiter) ~= nil"),
                new Variant(
                        "dead-behind-stay",
                        "who counts as dead behind stays",
                        JOIN,
                        "'LIMIT', '0', '64')",
                        "'LIMIT', '0', '0')"),
                new Variant(
                        "dead-behind-without-a-bound",
                        "all that count as dead behind are dropped in one step",
                        JOIN,
                        "'LIMIT', '0', '64')",
                        "'LIMIT', '0', '6400')"),
                new Variant(
                        "alive-behind-is-not-told",
                        "who asks again behind counts as dead as early as before",
                        JOIN,
                        "try('ZADD', BEHIND, '-' .. ends, 'a' .. waiter)",
                        "try('ZADD', BEHIND, 'NX', '-' .. ends, 'a' .. waiter)"),
                new Variant(
                        "behind-by-the-clock",
                        "who comes later is before others behind after the clock went back",
                        JOIN,
                        "last and last[2] and tonumber(last[2]) + 1 or 0",
                        "0"),
                new Variant(
                        "behind-ends-early",
                        "those behind expire while some wait",
                        JOIN,
                        "if alive > behind then",
                        "if behind == 0 then"),
                new Variant(
                        "front-ends-before-those-behind",
                        "the front expires while some stand behind",
                        JOIN,
                        "latest, changed = math.max(latest, behind), true",
                        "latest, changed = latest, true"),
                new Variant(
                        "step-before-the-end",
                        "the front is written at each request of those behind",
                        JOIN,
                        "  if alive > behind then\n    behind",
                        "  do\n    behind"),
                new Variant(
                        "confirmation-shortens",
                        "a confirmation shortens the time that a lock has left",
                        ACQUIRE,
                        "local ttl = digits(math.max(",
                        "local ttl = digits(math.min("));
    }
}
