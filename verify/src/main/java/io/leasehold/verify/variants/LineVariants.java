package io.leasehold.verify.variants;

import java.util.List;

/** Variants of the waiter string at a Redis server: its format, and the order in which waiters are served. */
final class LineVariants {

    private static final String QUEUE = "redis/wire/shared/queue.lua";
    private static final String PUT = "redis/wire/shared/put.lua";
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
                        "only one of two entries of an ended owner token is removed",
                        QUEUE,
                        "while from do",
                        "if from then"),
                new Variant(
                        "line-break-in-a-holder-id",
                        "the text after a line break in a holder id counts as another waiter",
                        ACQUIRE,
                        "([^\\n]*)')",
                        "(.*)')"),
                new Variant(
                        "place-stays-after-the-end",
                        "an ended owner token keeps its place",
                        RELEASE,
                        "  forget(owner)\n",
                        ""),
                new Variant("dead-stay", "dead waiters stay", QUEUE, "ends <= now and ", "ends <= 0 and "),
                new Variant(
                        "dead-without-a-bound",
                        "all dead waiters are dropped in one step",
                        QUEUE,
                        " and dropped < 64",
                        ""),
                new Variant(
                        "deaf-without-a-bound",
                        "all waiters without a subscriber are skipped in one step",
                        SERVE,
                        "for _ = 1, 64 do",
                        "for _ = 1, 6400 do"),
                new Variant(
                        "dead-never-looked-for-again",
                        "dead waiters are searched for only once",
                        QUEUE,
                        "elseif ends < soonest then",
                        "elseif ends < 0 then"),
                new Variant(
                        "woken-for-ever",
                        "a woken waiter that does not come keeps its place",
                        SERVE,
                        "if tonumber(alive) > now + WINDOW then",
                        "if tonumber(alive) < 0 then"),
                new Variant(
                        "wake-up-lengthens",
                        "a wake-up extends a place",
                        SERVE,
                        "if tonumber(alive) > now + WINDOW then",
                        "if tonumber(alive) > 0 then"),
                new Variant(
                        "handed-to-the-deaf",
                        "a lock that was handed to a waiter without a subscriber stays that waiter's",
                        SERVE,
                        "  ours = true\n  local attempt",
                        "  local attempt"),
                new Variant(
                        "fence-of-the-first-token",
                        "the fence ends with the first token of a hand-over",
                        SERVE,
                        "put(FENCE, digits(last)",
                        "put(FENCE, digits(first)"),
                new Variant(
                        "fence-ends-after-the-hand-over",
                        "the fence of a hand-over has no retention",
                        SERVE,
                        "(math.max(last, now) + RETENTION - now)",
                        "(math.max(last, now) + 1000 - now)"),
                new Variant(
                        "handed-and-deleted",
                        "a lock that was handed over is deleted as the releaser's",
                        SERVE,
                        "ours, handed = false, true",
                        "handed = true"),
                new Variant(
                        "foreign-type-written-over",
                        "a key of another type is overwritten",
                        PUT,
                        "option, ms, 'NX')",
                        "option, ms)"),
                new Variant(
                        "foreign-type-shortened",
                        "a key of another type gets an expiry while memory is full",
                        PUT,
                        "if is_new and ",
                        "if false and "),
                new Variant(
                        "memory-refuses-a-hand-over",
                        "writes that need no memory do not precede those that do",
                        PUT,
                        "call('PEXPIRE', key, option == 'PX' and ms or digits(math.max(1, ms - math.floor(now / 1000))))",
                        "call('EXISTS', key)"),
                new Variant(
                        "version-is-not-told",
                        "a queue of another version is reported as a key of another program",
                        VERSION,
                        "if version and version ~= '2' and",
                        "if version == '2' and"),
                new Variant(
                        "another-version-written-over",
                        "a queue of another version is overwritten by the next waiter",
                        ACQUIRE,
                        "if not read_queue() then",
                        "if not read_queue() and not queued then"),
                new Variant(
                        "last-again-at-each-request",
                        "a waiter that retries goes to the end of the queue",
                        JOIN,
                        "  local from, to = place_of(waiter)\n",
                        "  local from, to = place_of(waiter)\n  if from then\n    replace(from, to, '')\n    from = nil\n  end\n"),
                new Variant(
                        "written-beside-its-place",
                        "a waiter that retries is written one byte next to its place",
                        JOIN,
                        "digits(from - 1), entry",
                        "digits(from), entry"),
                new Variant(
                        "longer-line-over-the-next",
                        "a waiter that retries with other values is written over its neighbour",
                        JOIN,
                        "elseif to - from + 1 == #entry then",
                        "elseif to then"),
                new Variant(
                        "place-stays-beside-the-lock",
                        "a client that acquires a free lock keeps its place",
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
                        "dead waiters are searched for at each request once one could have died",
                        QUEUE,
                        "soonest, outdated = math.huge, true",
                        "soonest = math.huge"),
                new Variant(
                        "queue-ends-with-the-shortest-place",
                        "the queue expires although it has waiters",
                        JOIN,
                        "  if alive > latest then\n",
                        "  do\n"),
                new Variant(
                        "any-version-is-ours",
                        "a queue of another version is read as one of the current version",
                        VERSION,
                        "'^2 (%d+) (%d+) (%d+)()'",
                        "'^%d+ ?(%d*) ?(%d*) ?(%d*)()'"),
                new Variant("front-without-a-bound", "the front has no limit", JOIN, " or #text - base >= FRONT", ""),
                new Variant(
                        "front-before-those-behind",
                        "a new waiter is placed in the front while others are behind",
                        JOIN,
                        "(behind > 0 or ",
                        "("),
                new Variant(
                        "behind-for-ever",
                        "a waiter behind never comes forward",
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
                        "a waiter that comes forward also stays behind",
                        QUEUE,
                        "  if refusal or not try('ZREM', BEHIND, unpack(members)) then",
                        "  if refusal then"),
                new Variant(
                        "forward-and-wanted",
                        "the stored request stays behind when its waiter comes forward",
                        QUEUE,
                        "  try('HDEL', WANTED, unpack(owners))\n",
                        ""),
                new Variant(
                        "dead-come-forward",
                        "a dead waiter comes forward",
                        QUEUE,
                        "if alive and tonumber(alive) > now then",
                        "if alive then"),
                new Variant(
                        "forward-without-a-bound",
                        "the death of waiters that come forward is not checked in time",
                        QUEUE,
                        "      soonest = math.min(soonest, tonumber(alive))\n",
                        ""),
                new Variant(
                        "behind-ends-with-a-step",
                        "waiters behind a whole step are forgotten",
                        QUEUE,
                        "  if #owners < STEP then\n",
                        "  do\n"),
                new Variant(
                        "ended-in-front-alone",
                        "an ended owner token keeps its place behind",
                        RELEASE,
                        "    leave_behind(owner)\n",
                        ""),
                new Variant(
                        "ended-beside-what-it-wanted",
                        "the stored request of an ended owner token stays",
                        LEAVE,
                        "try('HDEL', WANTED, waiter)",
                        ""),
                new Variant(
                        "lost-front-comes-back",
                        "waiters behind a lost front are behind the next one",
                        JOIN,
                        "local foreign = behind == 0 and",
                        "local foreign = false and"),
                new Variant(
                        "foreign-keys-deleted",
                        "a key of another type is deleted for the waiters behind",
                        JOIN,
                        "if kind == wanted then",
                        "if kind ~= 'none' then"),
                new Variant(
                        "order-lost-for-ever",
                        "a waiter that was lost from the order behind never returns",
                        JOIN,
                        "'a' .. waiter) == 0",
                        "'a' .. waiter) ~= nil"),
                new Variant(
                        "dead-behind-stay",
                        "dead waiters behind stay",
                        JOIN,
                        "'LIMIT', '0', '64')",
                        "'LIMIT', '0', '0')"),
                new Variant(
                        "dead-behind-without-a-bound",
                        "all dead waiters behind are dropped in one step",
                        JOIN,
                        "'LIMIT', '0', '64')",
                        "'LIMIT', '0', '6400')"),
                new Variant(
                        "alive-behind-is-not-told",
                        "a waiter behind that retries counts as dead as early as before",
                        JOIN,
                        "try('ZADD', BEHIND, '-' .. ends, 'a' .. waiter)",
                        "try('ZADD', BEHIND, 'NX', '-' .. ends, 'a' .. waiter)"),
                new Variant(
                        "behind-by-the-clock",
                        "a later waiter is before others behind after the clock went back",
                        JOIN,
                        "last and last[2] and tonumber(last[2]) + 1 or 0",
                        "0"),
                new Variant(
                        "behind-ends-early",
                        "the waiters behind expire although some still wait",
                        JOIN,
                        "if alive > behind then",
                        "if behind == 0 then"),
                new Variant(
                        "front-ends-before-those-behind",
                        "the front expires while waiters are behind",
                        JOIN,
                        "latest, changed = math.max(latest, behind), true",
                        "latest, changed = latest, true"),
                new Variant(
                        "step-before-the-end",
                        "the front is written at each request of a waiter behind",
                        JOIN,
                        "  if alive > behind then\n    behind",
                        "  do\n    behind"),
                new Variant(
                        "confirmation-shortens",
                        "a confirmation shortens the remaining time of a lock",
                        ACQUIRE,
                        "local ttl = digits(math.max(",
                        "local ttl = digits(math.min("));
    }
}
