package io.leasehold.verify.variants;

import java.util.List;

/**
 * Variants of leases that travel over a set of nodes. Those named after a check in {@code verify/model/checks} break the same
 * rule as there.
 */
final class QuorumTicketVariants {

    private static final String TALLY = "quorum/ExportTally.java";
    private static final String ROUND = "quorum/QuorumRound.java";
    private static final String VOTES = "quorum/VoteTally.java";
    private static final String SESSION = "quorum/QuorumSession.java";
    private static final String RESUME = "quorum/QuorumResume.java";
    private static final String NODE = "memory/NameState.java";
    private static final String SCRIPT = "redis/wire/member_resume.lua";

    private QuorumTicketVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "third-release-forgotten",
                        "the session of an owner token is forgotten while a later end of it is under way",
                        "quorum/OwnerEnds.java",
                        "if (end == begun) {",
                        "if (end <= begun) {"),
                new Variant(
                        "export-by-a-minority",
                        "a ticket is returned although one node alone has confirmed it",
                        TALLY,
                        "if (kept >= quorum) {",
                        "if (kept >= 1) {"),
                new Variant(
                        "export-of-a-claim-that-is-over",
                        "a node confirms an export although its claim has ended since",
                        TALLY,
                        " && nowNanos - firstAtNanos[node] < keptNanos;",
                        ";"),
                new Variant(
                        "export-loss-at-a-doubtful-node",
                        "a lease is reported as lost although an earlier copy may have ended it at that node",
                        TALLY,
                        "instanceof ExportReply.NotOurs && !doubtful[node] ? 1 : 0;",
                        "instanceof ExportReply.NotOurs ? 1 : 0;"),
                new Variant(
                        "export-once-at-each-node",
                        "a node that did not answer has no ticket",
                        TALLY,
                        "return !over[node];",
                        "return false;"),
                new Variant(
                        "export-below-the-repairs",
                        "a late repair of the exporter is above the fence",
                        SESSION,
                        "Math.max(wanted.ballot(), attempt.highest(round)),\n                                        wanted.ticket()",
                        "wanted.ballot(),\n                                        wanted.ticket()"),
                new Variant(
                        "export-copies-after-the-undo",
                        "an export that was undone writes its ticket later",
                        SESSION,
                        "        shared.exports().stop(nodeOwner);\n",
                        ""),
                new Variant(
                        "claim-above-the-largest-ttl",
                        "a claim outlasts the quarantine of a node that has forgotten it",
                        "engine/LeaseExport.java",
                        " || longer.compareTo(store.maxTtl()) > 0) {",
                        ") {"),
                new Variant(
                        "votes-undone",
                        "a claimant that has lost a round undoes its votes, and so destroys the ticket",
                        ROUND,
                        "} else if (!held && purpose == Purpose.ACQUIRE && (isYes",
                        "} else if (!held && purpose != Purpose.DOWNGRADE && (isYes"),
                new Variant(
                        "split-votes-stay",
                        "claimants that split the votes keep them, and none ever wins",
                        ROUND,
                        "if ((isSplit || isPermanent) && mayHaveVotes()) {",
                        "if (false) {"),
                new Variant(
                        "back-and-again",
                        "an owner token whose votes were returned votes again",
                        ROUND,
                        "            phase = Phase.ENDED;\n            return List.of(new ReturnVotes()",
                        "            return List.of(new ReturnVotes()"),
                new Variant(
                        "split-votes-use-the-ticket",
                        "a ticket is refused permanently although its claimants may return their votes",
                        VOTES,
                        "return nodes.size() - free < quorum || mostOfOneHolder() >= quorum;",
                        "return nodes.size() - held < quorum;"),
                new Variant(
                        "own-votes-use-the-ticket",
                        "a claimant takes its own votes, which it is giving back, for those of another one",
                        RESUME,
                        "now(), counted(reply), estimateMicros",
                        "now(), reply, estimateMicros"),
                new Variant(
                        "votes-are-a-lease",
                        "a lease begins with the votes, which end with the claim",
                        RESUME,
                        "instanceof RoundVerdict.Won && step == LockNode.Resume.VOTE",
                        "instanceof RoundVerdict.Won && asked == null"),
                new Variant(
                        "unanswered-votes-have-no-effect",
                        "a claimant forgets votes that it may have",
                        RESUME,
                        "boolean mayHaveVotes = !round.isEnded() && round.mayHaveVotes();",
                        "boolean mayHaveVotes = false;"),
                new Variant(
                        "vote-begins-the-ttl-in-memory",
                        "a vote moves the end of the lock",
                        NODE,
                        "before != null && step == LockNode.Resume.VOTE ? before.endsAtNanos() :",
                        ""),
                new Variant(
                        "hold-keeps-the-claim-in-memory",
                        "the rest of the claim outlives a holder that resumes and crashes",
                        NODE,
                        "before != null && step == LockNode.Resume.VOTE ?",
                        "before != null ?"),
                new Variant(
                        "back-begins-the-claim-in-memory",
                        "a vote that is returned ends the lock",
                        NODE,
                        "request.claimNanos() == 0 ? current.endsAtNanos() : nowNanos",
                        "nowNanos"),
                new Variant(
                        "vote-begins-the-ttl",
                        "a vote moves the end of the lock",
                        SCRIPT,
                        "ARGV[2] == '0' and digits(math.max(1, left)) or ARGV[2]",
                        "ARGV[2] == '0' and '30000' or ARGV[2]"),
                new Variant(
                        "hold-keeps-the-claim",
                        "the rest of the claim outlives a holder that resumes and crashes",
                        SCRIPT,
                        "ARGV[2] == '0' and digits(math.max(1, left)) or ARGV[2]",
                        "digits(math.max(1, left, tonumber(ARGV[2])))"),
                new Variant(
                        "member-resume-takes-free",
                        "a resume takes a free lock of a member",
                        SCRIPT,
                        "if holds and (holds == ARGV[4]",
                        "if left == -2 or holds and (holds == ARGV[4]"),
                new Variant(
                        "member-resume-below-the-fence",
                        "a late vote that was returned comes back",
                        SCRIPT,
                        "if candidate <= floor then",
                        "if candidate < 0 then"),
                new Variant(
                        "vote-in-quarantine",
                        "a node that may have forgotten a later holder votes",
                        "redis/wire/shared/member.lua",
                        "if young > 0 then",
                        "if false then"),
                new Variant(
                        "vote-of-another-life",
                        "a node that was restarted votes with the marker of its former life",
                        "redis/wire/shared/member.lua",
                        "if not born or (of_life ~= life and life ~= 'durable' and of_life ~= run_id()) then",
                        "if not born then"),
                new Variant(
                        "back-begins-a-claim",
                        "a vote that is returned extends the ticket",
                        "redis/wire/export.lua",
                        "ARGV[4] == '0' and left or ARGV[4]",
                        "ARGV[4] == '0' and '60000' or ARGV[4]"));
    }
}
