package io.leasehold.verify.variants;

import java.util.List;

/**
 * Those of readers and writers at a server that is a member of a set: which of the callers keeps out which, whom an end wakes, and
 * what a member checks. The rules of the readers themselves are in scripts that every server runs: {@link ReaderVariants}.
 */
final class MemberReaderVariants {

    private static final String WATCH = "redis/wire/shared/watch.lua";
    private static final String WAKE = "redis/wire/shared/wake.lua";
    private static final String ACQUIRE = "redis/wire/member_acquire.lua";
    private static final String READ = "redis/wire/member_read_acquire.lua";
    private static final String RELEASE = "redis/wire/member_read_release.lua";
    private static final String DOWNGRADE = "redis/wire/member_read_downgrade.lua";

    private MemberReaderVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "members-script-place-of-equals",
                        "two waiters with the same place exclude each other",
                        WATCH,
                        "'+inf' or '(' .. order",
                        "'+inf' or order"),
                new Variant(
                        "members-script-intent-without-place",
                        "a waiter keeps out whatever is of the other kind, also if it came before",
                        WATCH,
                        "order == '0' and '+inf' or '(' .. order",
                        "'+inf'"),
                new Variant(
                        "members-script-passes-without-patience",
                        "a caller that does not wait passes those that do",
                        WATCH,
                        "order == '0' and '+inf' or '(' .. order",
                        "'(' .. order"),
                new Variant(
                        "members-script-intent-without-patience",
                        "a caller that does not wait keeps out others",
                        WATCH,
                        "if ms > 0 then",
                        "if true then"),
                new Variant(
                        "members-script-first-place-stays",
                        "a client keeps the place of an attempt that is over, and keeps out those that keep it out",
                        WATCH,
                        "try('ZADD', set, order, 'q' .. channel)",
                        "try('ZADD', set, 'NX', order, 'q' .. channel)"),
                new Variant(
                        "members-script-silent-intent",
                        "a waiter that is silent still keeps out others",
                        WATCH,
                        "  drop_dead(set)\n  for _ = 1, 64 do",
                        "  for _ = 1, 64 do"),
                new Variant(
                        "members-script-deaf-intent",
                        "a waiter that was killed keeps out others from a free lock",
                        WATCH,
                        "elseif not is_free or wake(set, first[1]:sub(2), key) then",
                        "else"),
                new Variant(
                        "members-script-writer-passes-readers",
                        "writers that come one after another starve a waiting reader",
                        ACQUIRE,
                        "if is_free and not is_kept_out(READ_WATCHERS, ARGV[9], READERS, true) then",
                        "if is_free then"),
                new Variant(
                        "members-script-common-case-passes-readers",
                        "the common case of the whole script does not see that a reader waits",
                        ACQUIRE,
                        "if watched and waits ~= '1' and (watched == 0 or ",
                        "if watched and (true or "),
                new Variant(
                        "members-script-many-pass-readers",
                        "the script for several callers does not see that a reader waits",
                        "redis/wire/member_acquire_many.lua",
                        "not value and values[i + 2] ~= '1'",
                        "not value"),
                new Variant(
                        "members-script-wait-without-its-text",
                        "the script for several callers finds nothing of a reader that waits",
                        WATCH,
                        "elseif set == READ_WATCHERS then",
                        "elseif false then"),
                new Variant(
                        "members-script-text-ends-with-one-reader",
                        "a reader that no longer waits ends what says that others do",
                        "redis/wire/shared/watchers.lua",
                        "if waits == '1' and try('EXISTS', READ_WATCHERS) == 0 then",
                        "if waits == '1' then"),
                new Variant(
                        "members-script-reader-passes-writers",
                        "readers that come one after another starve a waiting writer",
                        READ,
                        "(is_open and not is_kept_out(WATCHERS, order, LOCK, readers_end == 0))",
                        "is_open"),
                new Variant(
                        "members-script-holder-is-kept-out",
                        "a reader whose reply was lost is kept out of its own hold",
                        READ,
                        "if own_ends or (is_open",
                        "if (is_open"),
                new Variant(
                        "members-script-grant-leaves-intent",
                        "a reader that holds the lock still keeps out writers",
                        READ,
                        "      forget(READ_WATCHERS, channel)\n",
                        ""),
                new Variant(
                        "members-script-reader-beside-a-writer",
                        "a member grants a reader although a writer holds it",
                        READ,
                        "local is_open = readers_end > 0 or ours or ",
                        "local is_open = true or "),
                new Variant(
                        "members-script-reader-against-any",
                        "a reader must exceed the fence, which other readers raise",
                        READ,
                        "math.max(read_floor, now - RETENTION)",
                        "math.max(fence, now - RETENTION)"),
                new Variant(
                        "members-script-reader-of-any-life",
                        "a member grants a reader whatever it has forgotten",
                        READ,
                        "local refused = not_a_member(marker, ARGV[10], ARGV[11], ARGV[12], ARGV[13])",
                        "local refused"),
                new Variant(
                        "members-script-downgrade-of-any-life",
                        "a member downgrades whatever it has forgotten",
                        DOWNGRADE,
                        "local refused = not_a_member(marker, ARGV[8], ARGV[9], ARGV[10], ARGV[11])",
                        "local refused"),
                new Variant(
                        "members-script-downgrade-of-none",
                        "a node with neither the writer nor the reader makes a reader",
                        "redis/wire/shared/downgrade.lua",
                        "if not ends and not is_writers then",
                        "if not ends and not is_writers and left ~= -2 then"),
                new Variant(
                        "members-script-end-raises-nothing",
                        "a late request of a reader that has ended is granted",
                        RELEASE,
                        "end_at(math.min(ballot, limit), fence or 0)",
                        "end_at(0, fence or 0)"),
                new Variant(
                        "members-script-end-raises-own-only",
                        "the end of a reader raises its own floor, and not the fence",
                        RELEASE,
                        "if fence and raised > fence then",
                        "if false then"),
                new Variant(
                        "members-script-end-leaves-intent",
                        "a waiting reader that withdraws still keeps out writers",
                        RELEASE,
                        "forget(READ_WATCHERS, ARGV[7] == 'leave' and channel or '')",
                        "forget(READ_WATCHERS, '')"),
                new Variant(
                        "members-script-end-beyond-the-limit",
                        "an end that could raise the fence only in part counts as the last",
                        RELEASE,
                        "if fence and ballot > limit then",
                        "if false then"),
                new Variant(
                        "members-script-one-end-ends-all",
                        "the end of a reader ends the others",
                        "redis/wire/shared/end_readers.lua",
                        "return reader == owner",
                        "return true"),
                new Variant(
                        "members-script-wakes-the-writer-beside-readers",
                        "a writer is woken while readers hold the lock",
                        WAKE,
                        "elseif not is_free or not writer or",
                        "elseif not writer or"),
                new Variant(
                        "members-script-wakes-writers-first",
                        "a writer is woken before the readers that wait before it",
                        WAKE,
                        "if woken or own_first then",
                        "if own_first then"),
                new Variant(
                        "members-script-wakes-readers-past-a-writer",
                        "readers that wait behind a writer are woken before it",
                        WAKE,
                        "writers[2] and '(' .. digits(tonumber(writers[2])) or '+inf'",
                        "'+inf'"),
                new Variant(
                        "members-script-wakes-one-message",
                        "the message to a waiting reader names the lock of writers",
                        WAKE,
                        "reader:sub(2), READERS)",
                        "reader:sub(2), LOCK)"),
                new Variant(
                        "members-script-other-kind-of-the-client",
                        "a client whose reader waits is not told that its writer has left",
                        WAKE,
                        "(own == WATCHERS and writer == channel)",
                        "writer == channel"),
                new Variant(
                        "members-script-withdrawal-wakes-nobody",
                        "a writer that withdraws lets in no reader behind it",
                        "redis/wire/member_release.lua",
                        "if is_free or value == string.rep('0', 40) .. '::readers' then",
                        "if is_free then"),
                new Variant(
                        "members-script-release-past-readers",
                        "a lock is deleted in the common case, and no waiting reader is woken",
                        "redis/wire/member_release_many.lua",
                        "try('EXISTS', KEYS[3 * i - 1], KEYS[3 * i]) == 0",
                        "try('EXISTS', KEYS[3 * i - 1]) == 0"),
                new Variant(
                        "members-unverified-downgrade",
                        "a member whose server was not checked votes for a downgrade",
                        "redis/node/VerifiedMember.java",
                        "return proposed(ballot, membership, believed -> super.downgrade(ballot, writer, believed));",
                        "return super.downgrade(ballot, writer, membership);"),
                new Variant(
                        "members-own-readers-not-woken",
                        "a client whose reader ends does not wake its other readers, if those of other clients are woken",
                        "redis/node/MemberVerbs.java",
                        "(!freed.awaited() || name.isRead())",
                        "!freed.awaited()"));
    }
}
