package io.leasehold.verify.variants;

import java.util.List;

/**
 * Variants of readers and writers over a set of nodes. Those named after a check in {@code verify/model/checks} break the same
 * rule as there. The floors at a node are the same as without a set: {@link ReaderVariants}.
 */
final class QuorumReaderVariants {

    private static final String READERS = "memory/InMemoryReaders.java";
    private static final String NODE = "memory/InMemoryNode.java";
    private static final String STATE = "memory/NameState.java";
    private static final String ATTEMPT = "quorum/QuorumAttempt.java";
    private static final String ROUND = "quorum/QuorumRound.java";
    private static final String SESSION = "quorum/QuorumSession.java";
    private static final String STORE = "quorum/QuorumStore.java";
    private static final String ADMIN = "quorum/QuorumAdmin.java";

    private QuorumReaderVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "members-readers-against-any",
                        "at a member, a reader must exceed the fence, which other readers raise",
                        "memory/Readers.java",
                        "return fence == fenceSeen ? floor : fence;",
                        "return fence;"),
                new Variant(
                        "members-end-raises-any-only",
                        "the end of a reader raises the fence of a member, and not the floor of readers",
                        "memory/Readers.java",
                        "return seen(Math.max(floor(fence), ballot), Math.max(fence, ballot));",
                        "return seen(floor(fence), Math.max(fence, ballot));"),
                new Variant(
                        "members-readers-beside-a-writer",
                        "a member grants a reader although a writer holds it",
                        READERS,
                        "if (!own && (entry.heldAt(step.nowNanos()) != null || !entry.letsPass(ballot))) {",
                        "if (!own && !entry.letsPass(ballot)) {"),
                new Variant(
                        "members-renewal-keeps-the-end",
                        "the renewal of a reader does not move its end",
                        "memory/Readers.java",
                        "return endsAtNanos - own.endsAtNanos() > 0",
                        "return false && endsAtNanos - own.endsAtNanos() > 0"),
                new Variant(
                        "intent-without-place",
                        "a waiter keeps out whatever is of the other kind, also if it came before",
                        STATE,
                        "waiter.order() > 0 && waiter.order() < place",
                        "waiter.order() > 0 && place != Ballot.HOLDERS"),
                new Variant(
                        "intent-of-each-ballot",
                        "the place of a waiter is that of its last ballot, and another one at each node",
                        ATTEMPT,
                        "place = place == 0 ? candidate : place;",
                        "place = candidate;"),
                new Variant(
                        "intent-keeps-out-repairs",
                        "a waiter keeps a holder from a node that has lost its entry",
                        ATTEMPT,
                        "candidate, 1, 0, Ballot.HOLDERS);",
                        "candidate, 1);"),
                new Variant(
                        "intent-without-patience",
                        "a caller that does not wait keeps out others",
                        READERS,
                        "            if (request.isWaiting()) {\n                entry.forgetPlaceOf(request.holderId(), true);\n                entry.enqueue",
                        "            if (true) {\n                entry.forgetPlaceOf(request.holderId(), true);\n                entry.enqueue"),
                new Variant(
                        "end-leaves-intent",
                        "a waiting reader that withdraws still keeps out writers",
                        READERS,
                        "            entry.waiters.remove(request.owner());\n",
                        ""),
                new Variant(
                        "end-leaves-intent-of-a-writer",
                        "a waiting writer that withdraws still keeps out readers",
                        STATE,
                        "            waiters.remove(request.owner());\n",
                        ""),
                new Variant(
                        "writers-pass-waiting-readers",
                        "writers that come one after another starve a waiting reader",
                        NODE,
                        "inOrder ? entry.isFirst(request.owner()) : entry.letsPass(ballot);",
                        "!inOrder || entry.isFirst(request.owner());"),
                new Variant(
                        "readers-pass-waiting-writers",
                        "readers that come one after another starve a waiting writer",
                        READERS,
                        " || !entry.letsPass(ballot))) {",
                        ")) {"),
                new Variant(
                        "waiters-in-another-order",
                        "the members wake waiters in the order in which their requests arrived",
                        STATE,
                        "if (place.order() > 0) {",
                        "if (place.order() < 0) {"),
                new Variant(
                        "downgrade-leaves-the-writer",
                        "a writer stays at the nodes that did not receive the downgrade",
                        SESSION,
                        "            writer.endDowngraded();\n",
                        ""),
                new Variant(
                        "downgrade-and-repair",
                        "a late renewal repairs the writer that became a reader",
                        STORE,
                        "            former.downgrades();\n",
                        ""),
                new Variant(
                        "downgrade-lost-by-a-minority",
                        "one node that knows neither owner token proves that the writer was lost",
                        ATTEMPT,
                        "if (!(verdict instanceof RoundVerdict.Contended contended) || contended.holds()) {",
                        "if (verdict != null) {"),
                new Variant(
                        "downgrade-leaves-a-minority",
                        "the readers of a minority stay after a downgrade of a lost writer",
                        ROUND,
                        "return isOver ? List.of(undo(), finish) : List.of(finish);",
                        "return List.of(finish);"),
                new Variant(
                        "downgrade-undone-without-answer",
                        "a downgrade is undone although the caller repeats it",
                        ROUND,
                        "} else if (!held && purpose == Purpose.ACQUIRE && (isYes",
                        "} else if (!held && purpose != Purpose.RESUME && (isYes"),
                new Variant(
                        "downgrade-by-the-floor-of-readers",
                        "a late downgrade revives a reader that has ended",
                        READERS,
                        "unacceptable(ballot, entry, entry.fence, step);",
                        "unacceptable(ballot, entry, entry.readers.floor(0), step);"),
                new Variant(
                        "readers-of-a-minority",
                        "readers that one node has are listed as holders",
                        ADMIN,
                        "if (each.size() >= quorum) {",
                        "if (true) {"),
                new Variant(
                        "one-kind-ends-the-other",
                        "the release of a reader ends a writer with the same owner token",
                        STORE,
                        "return (session != null && session.isOf(request.names().get(0))",
                        "return (session != null"));
    }
}
