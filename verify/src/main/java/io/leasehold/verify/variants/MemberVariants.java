package io.leasehold.verify.variants;

import java.util.List;

/**
 * Those of a member of a set in the common case: which life of its server a request is for, what its scripts compare, and
 * when the whole script follows.
 */
final class MemberVariants {

    private static final String LINK = "redis/topology/Link.java";
    private static final String DIRECT = "redis/topology/Directness.java";
    private static final String HANDSHAKE = "redis/topology/Handshake.java";
    private static final String JOINT = "redis/topology/JointCalls.java";
    private static final String LIFE = "redis/wire/LifeCheck.java";
    private static final String CALLS = "redis/node/MemberCalls.java";
    private static final String ACQUIRES = "redis/wire/member_acquire_many.lua";
    private static final String RELEASES = "redis/wire/member_release_many.lua";

    private MemberVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "run-id-of-a-former-connection",
                        "a request has the run id that the first connection to its server was told",
                        LINK,
                        "private ScriptCall here(ScriptCall call) {\n",
                        "private static final java.util.Map<String, String> TOLD = new"
                                + " java.util.concurrent.ConcurrentHashMap<>();\n\n"
                                + "    private ScriptCall here(ScriptCall call) {\n"
                                + "        if (isOpen()) {\n"
                                + "            return call.on(TOLD.computeIfAbsent(address.address(), it ->"
                                + " incarnation().id()), directness::isProved);\n"
                                + "        }\n"),
                new Variant(
                        "two-lives-of-one-link",
                        "the second connection of a link leads to another life than the first",
                        HANDSHAKE,
                        "!runId(itsInfo).equals(runId(info))",
                        "false"),
                new Variant(
                        "proxy-is-not-noticed",
                        "a server that does not see the client's end of the connection counts as direct",
                        DIRECT,
                        "made.complete(shows(info))",
                        "made.complete(true)"),
                new Variant(
                        "proof-of-one-end",
                        "a connection counts as direct if the server says what it sees, whatever that is",
                        DIRECT,
                        "remote != null && connection.hasEnds(local, remote);",
                        "remote != null;"),
                new Variant(
                        "valid-birth-is-undone",
                        "a wrong run id of one client makes the node forget its birth",
                        "redis/wire/member_acquire.lua",
                        "call('INFO', 'server'):find('run_id:' .. life .. '\\r', 1, true))",
                        "call('INFO', 'server'):find('run_id:' .. life .. '\\r', 1, true) and ARGV[13] == 'volatile')"),
                new Variant(
                        "neighbours-ballot-at-a-member",
                        "all callers of a script get the arguments of the first",
                        ACQUIRES,
                        "local at = (4 * i + 4) / 3",
                        "local at = 4"),
                new Variant(
                        "neighbours-birth-at-a-member",
                        "the quarantine of the first caller counts for all",
                        ACQUIRES,
                        "born <= tonumber(ARGV[at + 3])",
                        "born <= tonumber(ARGV[7])"),
                new Variant(
                        "missing-right-stops-all-at-a-member",
                        "a missing right to read a ttl ends a script that has written",
                        ACQUIRES,
                        "local ttl = try('PTTL', KEYS[i])",
                        "local ttl = redis['call']('PTTL', KEYS[i])"),
                new Variant(
                        "neighbours-release-at-a-member",
                        "all callers of a script release as the first",
                        RELEASES,
                        "value:sub(1, #ours) == ours",
                        "value:sub(1, #ours) == ARGV[1]"),
                new Variant(
                        "place-of-a-superseded-token",
                        "an attempt that continues under another owner token counts as one without a watcher",
                        "redis/node/ClientPlaces.java",
                        "first && !superseded",
                        "first"),
                new Variant(
                        "wake-up-lost-between-two-scripts",
                        "an attempt that began while a release was on its way is not woken",
                        "redis/node/MemberVerbs.java",
                        "(mayHaveEndedLaterPlaces || ",
                        "("),
                new Variant(
                        "place-ended-by-an-earlier-undo",
                        "an attempt whose place the undo of an earlier one has removed is not woken",
                        "redis/node/MemberVerbs.java",
                        "mayHaveEndedLaterPlaces = !stays;",
                        "mayHaveEndedLaterPlaces = !stays && request.kind() == ReleaseRequest.Kind.RELEASE;"),
                new Variant(
                        "proxy-is-not-believed",
                        "the run id of the connection is sent though a proxy was declared",
                        LIFE,
                        "case INFO -> \"volatile\";",
                        "case INFO -> runId;"),
                new Variant(
                        "second-look-left-out",
                        "that a lock is held is the answer to a caller that wants to be woken",
                        CALLS,
                        "watch.millis() == 0));",
                        "true));"),
                new Variant(
                        "place-left-behind",
                        "a caller that may be watched asks with the script that leaves its place",
                        CALLS,
                        "|| again || ballot",
                        "|| ballot"),
                new Variant(
                        "sets-together",
                        "calls with different facts about their sets leave as one script",
                        JOINT,
                        "!waiting.common.head().isLike(calls.get(0).common.head())",
                        "false"),
                new Variant(
                        "tokens-beside-the-common-case",
                        "a request for several tokens uses the script for one",
                        CALLS,
                        "ballot.reserve() != 1",
                        "ballot.reserve() > 9"),
                new Variant(
                        "former-life-grants",
                        "a marker of another life counts",
                        ACQUIRES,
                        "local lives = life == ARGV[3] or",
                        "local lives = true or"),
                new Variant(
                        "own-look-left-out",
                        "where the script reads the run id each life counts",
                        ACQUIRES,
                        ":find('run_id:' .. life .. '\\r', 1, true)",
                        ":find('run_id:', 1, true)"),
                new Variant(
                        "no-marker-needed",
                        "a node without a marker grants",
                        ACQUIRES,
                        "if born and born <= tonumber(ARGV[at + 3]) then",
                        "if not born or born <= tonumber(ARGV[at + 3]) then"),
                new Variant(
                        "any-set",
                        "a member of another set grants",
                        ACQUIRES,
                        "marker:sub(rest + 1) == ARGV[1] and ",
                        ""),
                new Variant(
                        "unborn-counts",
                        "a marker without a birth counts as one with it",
                        ACQUIRES,
                        "'^born|(%d+)|(%w+)()'",
                        "'born|(%d+)|(%w+)()'"),
                new Variant(
                        "no-quarantine",
                        "a node grants before its quarantine is over",
                        ACQUIRES,
                        "if born and born <= tonumber(ARGV[at + 3]) then",
                        "if born then"),
                new Variant(
                        "one-stops-all-at-a-member",
                        "what is refused to one of several ends the script",
                        ACQUIRES,
                        "local try = redis.pcall",
                        "local try = redis.call"),
                new Variant(
                        "stale-at-a-member",
                        "a ballot that does not beat the fence is granted",
                        ACQUIRES,
                        "candidate > fence and ",
                        ""),
                new Variant(
                        "old-at-a-member",
                        "a ballot below TIME - retention is granted",
                        ACQUIRES,
                        "candidate > now - 60000000 and ",
                        ""),
                new Variant(
                        "beyond-the-bound-at-a-member",
                        "a ballot beyond the limit is granted",
                        ACQUIRES,
                        " and candidate <= (fence > now and fence or now) + ARGV[2] then",
                        " then"),
                new Variant(
                        "foreign-lock-at-a-member",
                        "a lock of another type is overwritten",
                        ACQUIRES,
                        "ARGV[at], 'PX', ARGV[at + 1], 'NX')",
                        "ARGV[at], 'PX', ARGV[at + 1])"),
                new Variant(
                        "foreign-fence-at-a-member",
                        "a fence of another type is overwritten",
                        ACQUIRES,
                        "ARGV[at + 2], 'PX', ms, 'NX')",
                        "ARGV[at + 2], 'PX', ms)"),
                new Variant(
                        "taken-without-a-fence-at-a-member",
                        "a lock whose fence cannot be written stays taken",
                        ACQUIRES,
                        "try('DEL', KEYS[i])",
                        "answer = 0"),
                new Variant(
                        "own-token-is-told",
                        "the answer about a holder contains its owner token",
                        ACQUIRES,
                        "value:sub(42, 600)",
                        "value:sub(1, 600)"),
                new Variant(
                        "own-hold-is-another",
                        "a hold of the caller counts as that of another",
                        ACQUIRES,
                        "value:sub(1, 41) ~= ARGV[at]:sub(1, 41)\n        and ",
                        ""),
                new Variant(
                        "fence-expires-early-at-a-member",
                        "the fence of a token ahead of the clock is kept as if it were not",
                        ACQUIRES,
                        "candidate > now and math.ceil((candidate + 60000000 - now) / 1000) or '60000'",
                        "'60000'"),
                new Variant(
                        "release-of-any-owner-at-a-member",
                        "a lock of another owner is deleted",
                        RELEASES,
                        "value:sub(1, #ours) == ours",
                        "value"),
                new Variant(
                        "release-below-the-ballot-at-a-member",
                        "a lock is deleted though the highest ballot of its owner is above its token",
                        RELEASES,
                        "value:sub(1, #ours) == ours",
                        "value:sub(1, 41) == ours:sub(1, 41)"),
                new Variant(
                        "release-past-the-watchers",
                        "a lock is deleted and no watcher is woken",
                        RELEASES,
                        "try('EXISTS', KEYS[3 * i - 1], KEYS[3 * i]) == 0 and ",
                        ""));
    }
}
