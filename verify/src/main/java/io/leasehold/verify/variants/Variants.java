package io.leasehold.verify.variants;

import java.util.List;

/** All of them. */
final class Variants {

    private static final String SERVING = "memory/Serving.java";
    private static final String NAME = "memory/NameState.java";
    private static final String LEASE = "engine/GrantMachine.java";
    private static final String ATTEMPT = "engine/AcquireMachine.java";
    private static final String TOKENS = "engine/GrantTokens.java";
    private static final String SEVERAL = "engine/MultiAcquire.java";
    private static final String ROUND = "quorum/QuorumRound.java";

    private Variants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "validity-from-the-reply",
                        "validity counts from the reply, not from the sending",
                        LEASE,
                        "sentAtNanos + (claimed ? timings.claimValidityNanos",
                        "nowNanos + (claimed ? timings.claimValidityNanos"),
                new Variant(
                        "renewal-from-the-reply",
                        "a renewal counts from its reply",
                        LEASE,
                        "long untilAtNanos = sentAtNanos + timings.validityNanos();",
                        "long untilAtNanos = nowNanos + timings.validityNanos();"),
                new Variant(
                        "no-drift",
                        "the ttl is not reduced for clocks with another rate",
                        "engine/Timings.java",
                        "options.validity().toNanos(),",
                        "ttlNanos,"),
                new Variant(
                        "sleep-unnoticed",
                        "a lease is trusted although the machine slept through its end",
                        "engine/GrantDoubts.java",
                        "        unconfirmed = true;\n",
                        ""),
                new Variant(
                        "retry-with-others",
                        "a renewal that follows a failed one is sent early with others",
                        LEASE,
                        "arm(atNanos, atNanos, actions);",
                        "arm(atNanos, atNanos - timings.togetherNanos(), actions);"),
                new Variant(
                        "renewal-after-release",
                        "a renewal may be sent after the release",
                        LEASE,
                        "sending = isHeld();",
                        "sending = true;"),
                new Variant(
                        "no-undo",
                        "a grant that comes after its caller has gone is not released",
                        ATTEMPT,
                        "return remembered ? List.of(new Undo(highestBallot)) : List.of();",
                        "return remembered && !(reply instanceof AcquireReply.Granted)"
                                + " ? List.of(new Undo(highestBallot)) : List.of();"),
                new Variant(
                        "undo-without-ballot",
                        "an undo does not name the highest ballot of its owner token",
                        ATTEMPT,
                        "return remembered ? List.of(new Undo(highestBallot), finish) : List.of(finish);",
                        "return remembered ? List.of(new Undo(0), finish) : List.of(finish);"),
                new Variant(
                        "ballots-do-not-rise",
                        "a request of an attempt may propose the ballot of an earlier one",
                        "node/SingleNodeStore.java",
                        "Math.max(seen, request.ballotSoFar()) + 1);",
                        "seen + 1) - 400_000;"),
                new Variant(
                        "no-own-token-check",
                        "a release deletes any value",
                        NAME,
                        "boolean isHolder = current != null && current.owner().equals(request.owner());",
                        "boolean isHolder = current != null;"),
                new Variant(
                        "renew-without-owner-check",
                        "a renewal extends any value",
                        NAME,
                        "current == null || !current.owner().equals(item.owner())",
                        "current == null"),
                new Variant(
                        "no-fence-check",
                        "a ballot is granted whatever the floor",
                        SERVING,
                        "if (ballot.candidate() <= floor) {",
                        "if (ballot.candidate() < 0) {"),
                new Variant(
                        "release-does-not-raise",
                        "release and undo do not raise the fence",
                        NAME,
                        "fence = Math.max(fence, Math.min(ballot, most));",
                        "fence = Math.max(fence, Math.min(0, most));"),
                new Variant(
                        "range-not-reserved",
                        "a grant stores only its first token",
                        NAME,
                        "            endsAtNanos = own.endsAtNanos();\n        }\n        held = new Held(request.owner(),"
                                + " request.holderId(), ballot.candidate(), endsAtNanos);\n        fence ="
                                + " ballot.tokens().last();",
                        "            endsAtNanos = own.endsAtNanos();\n        }\n        held = new Held(request.owner(),"
                                + " request.holderId(), ballot.candidate(), endsAtNanos);\n        fence = ballot.candidate();"),
                new Variant(
                        "claim-not-renewed",
                        "a client that finds its own lock after a hand-over keeps the end of its claim",
                        NAME,
                        "own.owner().equals(request.owner()) && own.endsAtNanos() - endsAtNanos > 0) {",
                        "own.owner().equals(request.owner())) {"),
                new Variant(
                        "hand-over-lost",
                        "a waiter is not notified that it was handed the lock",
                        SERVING,
                        "signals.add(listener -> listener.handedOver(handOver));",
                        "java.util.Objects.requireNonNull(handOver);"),
                new Variant(
                        "hand-over-of-a-held-lock",
                        "a release hands over though it does not own the lock",
                        SERVING,
                        ": !entry.isHeld(nowNanos);",
                        ": true;"),
                new Variant(
                        "dead-waiters-stay",
                        "a silent waiter keeps its place",
                        "memory/NameState.java",
                        "nowNanos - place.forgottenAtNanos() >= 0);",
                        "nowNanos - place.forgottenAtNanos() >= Long.MAX_VALUE);"),
                new Variant(
                        "quarantine-off",
                        "a node that may have lost its state grants at once",
                        "memory/MemberMarker.java",
                        "if (leftMicros > 0) {",
                        "if (leftMicros > Long.MAX_VALUE / 2) {"),
                new Variant(
                        "another-life-unnoticed",
                        "a node that returns with older data counts as unchanged",
                        "memory/MemberMarker.java",
                        "if (!born || anotherLife) {",
                        "if (!born) {"),
                new Variant(
                        "minority-wins",
                        "one vote less than a quorum is enough",
                        "quorum/Quorum.java",
                        "return nodes / 2 + 1;",
                        "return nodes / 2;"),
                new Variant(
                        "undo-of-a-late-yes",
                        "a late vote for a won attempt is undone",
                        ROUND,
                        "} else if (!held && purpose == Purpose.ACQUIRE && (isYes || unknown[node])) {",
                        "} else if (purpose == Purpose.ACQUIRE && (isYes || unknown[node])) {"),
                new Variant(
                        "votes-of-any-ballot",
                        "a vote counts for another ballot than the one it answers",
                        ROUND,
                        "if (event.candidate() == candidate && votes[node] == null) {",
                        "if (votes[node] == null) {"),
                new Variant(
                        "quorum-ballot-without-floor",
                        "a stale ballot is repeated regardless of the reported floor",
                        ROUND,
                        "propose(Math.max(highest, Math.max(tally.floor(), estimateMicros)) + lead)",
                        "propose(highest + 1)"),
                new Variant(
                        "silent-node-awaited",
                        "a round that cannot be won waits for a silent node",
                        ROUND,
                        "(late[node] || silent.get(node))",
                        "late[node]"),
                new Variant(
                        "first-answer-beside-silent-nodes",
                        "with silent nodes the first reply ends a round",
                        ROUND,
                        " || (tally.isPending() && !silent.isEmpty())",
                        ""),
                new Variant(
                        "far-node-cut-short",
                        "a distant node gets no more time than the near ones, even if one of these cannot grant",
                        ROUND,
                        "vote -> vote instanceof NodeReply.Yes || isContended(vote)",
                        "vote -> vote != null"),
                new Variant(
                        "standstill-taken-for-silence",
                        "a client that has paused waits for none of its nodes",
                        "quorum/NodeSet.java",
                        "if (size() - silent.cardinality() < quorum())",
                        "if (silent.cardinality() > size())"),
                new Variant(
                        "wake-up-waits-for-the-pause",
                        "a wake-up does not shorten the pause after split votes",
                        "quorum/ContentionBackoff.java",
                        "} else if (!next.isWoken()) {",
                        "} else if (false) {"),
                new Variant(
                        "wake-ups-without-end",
                        "clients that wake each other by undoing split rounds never separate",
                        "quorum/ContentionBackoff.java",
                        "Repetition.pauseNanos(spreadNanos(), MAX_NANOS / 4, lost)",
                        "spreadNanos()"),
                new Variant(
                        "cut-short-for-ever",
                        "the time limit for distant nodes does not grow",
                        "quorum/QuorumAttempt.java",
                        " << Math.min(cutShort / 2, MAX_CUTS)",
                        ""),
                new Variant(
                        "validity-from-the-latest-node",
                        "a quorum keeps a lock from the latest confirmation, not from the quorum-th latest",
                        "quorum/QuorumRenewal.java",
                        "return Quorum.latestReachedBy(quorum, moments);",
                        "return Quorum.latestReachedBy(1, moments);"),
                new Variant(
                        "undo-once",
                        "an undo at a silent node is not repeated",
                        "quorum/NodeRelease.java",
                        "if (!sendAgain(node)) {",
                        "copies[node].end();\n                if (!sendAgain(node)) {"),
                new Variant(
                        "release-repeated-once",
                        "an unanswered release or undo is repeated only once",
                        "spi/toolkit/Repetition.java",
                        "if (state == State.ENDED || leftNanos <= 0) {",
                        "if (state == State.ENDED || leftNanos <= 0 || failures > 0) {"),
                new Variant(
                        "renewal-armed-once",
                        "a failed renewal arms no other",
                        LEASE,
                        "            arm(nowNanos + timings.renewalRetryNanos(validUntilAtNanos - nowNanos, tries), actions);\n",
                        ""),
                new Variant(
                        "tries-used-up",
                        "the tries after an early renewal are used up long before the validity ends",
                        "engine/Timings.java",
                        "Math.max(renewalRetryNanos(), validForNanos / (left + 1))",
                        "renewalRetryNanos()"),
                new Variant(
                        "limit-of-the-shortest",
                        "a renewal with a long time limit is sent with one that has a short limit",
                        "engine/RenewalBatcher.java",
                        "long limitNanos = 2 * shortestAnswerNanos(rest);",
                        "long limitNanos = Long.MAX_VALUE;"),
                new Variant(
                        "suspicion-asked-once",
                        "after news of an operator's release, a failed query is the last",
                        LEASE,
                        "        if (isInDoubt()) {\n            armConfirmation(",
                        "        if (isUnconfirmed()) {\n            armConfirmation("),
                new Variant(
                        "look-armed-once",
                        "a waiter whose poll fails arms no other",
                        ATTEMPT,
                        "if (wakePending && !(reply instanceof AcquireReply.Failed)) {",
                        """
                        if (reply instanceof AcquireReply.Failed) {
                                    return List.of();
                                }
                                if (wakePending) {\
                        """),
                new Variant(
                        "look-too-late",
                        "a waiter polls after ten times the interval in its options",
                        "engine/WaitPolicy.java",
                        "return base + scaled(base / 5, random);",
                        "return 10 * base;"),
                new Variant(
                        "deadline-after-a-pause",
                        "a waiter with a reply checks its time limit only when it polls",
                        ATTEMPT,
                        "if (!unlimited && deadlineAtNanos - nowNanos < pauseNanos) {",
                        "if (unlimited && pauseNanos < 0) {"),
                new Variant(
                        "zero-patience-by-the-clock",
                        "an attempt without patience retries if the clock has gone back",
                        ATTEMPT,
                        "return !unlimited && (asksOnce || nowNanos - deadlineAtNanos >= 0);",
                        "return !unlimited && nowNanos - deadlineAtNanos >= 0;"),
                new Variant(
                        "deadline-in-the-line",
                        "a waiter behind another one of its process has no time limit until it is first",
                        ATTEMPT,
                        "return unlimited ? List.of() : List.of(new Arm(deadlineAtNanos));",
                        "return List.of();"),
                new Variant(
                        "part-not-given-back",
                        "of several locks the first stay taken if a later one is not available",
                        "engine/TakenParts.java",
                        "parts.forEach(part -> leaves(UnseenHold.giveBack(part)));",
                        "parts.forEach(Hold::hashCode);"),
                new Variant(
                        "validity-of-the-best-part",
                        "several locks are valid as long as the longest-valid one",
                        "engine/JoinedLeases.java",
                        ".min(Duration::compareTo)",
                        ".max(Duration::compareTo)"),
                new Variant(
                        "sleep-of-several",
                        "the grant of several locks at once is trusted although the machine slept before it came",
                        SEVERAL,
                        "names.forEach(name -> parts.keep(attempts.keep(name, keep.grant(), settings, mark, asked)));",
                        "names.forEach(name -> parts.keep(attempts.keep(\n                    name, keep.grant(), settings,"
                                + " context.suspensions().mark(), asked)));"),
                new Variant(
                        "parts-not-looked-at",
                        "the first of several locks are not checked again when the last is acquired",
                        SEVERAL,
                        "!machine.isWorthKeeping(part.state().remaining().toNanos())",
                        "part.state().remaining().isNegative()"),
                new Variant(
                        "loss-of-the-first-part",
                        "of several locks only the loss of the first is reported",
                        "engine/JoinedLeases.java",
                        "parts.forEach(part -> part.onLost(cause -> {",
                        "parts.subList(0, 1).forEach(part -> part.onLost(cause -> {"),
                new Variant(
                        "token-beyond-the-range",
                        "a lease that is handed over has a token that was not reserved",
                        TOKENS,
                        "        return nextToken++;",
                        "        return nextToken++ + (lastToken - nextToken < 62 ? 64 : 0);"),
                new Variant(
                        "token-of-two-holders",
                        "a lease that is handed over has the token of the one before",
                        TOKENS,
                        "        return nextToken++;",
                        "        return nextToken;"),
                new Variant(
                        "passed-on-for-long",
                        "a process hands a lock over for two seconds after its grant",
                        "engine/Timings.java",
                        "Duration.ofMillis(20).toNanos();",
                        "Duration.ofMillis(2_000).toNanos();"),
                new Variant(
                        "too-many-reserved",
                        "a process reserves tokens for more leases than it may hand over",
                        "engine/LocalQueue.java",
                        "return behind == null ? 1 : Timings.MAX_LEASES;",
                        "return behind == null ? 1 : 10 * Timings.MAX_LEASES;"),
                new Variant(
                        "passed-on-below-the-minimum",
                        "a lease is handed over with any remaining validity",
                        TOKENS,
                        "Math.max(1, timings.minimumValidityNanos());",
                        "1;"),
                new Variant(
                        "fixed-ttl-passed-on",
                        "a lease without renewals is handed over",
                        TOKENS,
                        "timings.renewed() && options.fairness()",
                        "options.fairness()"),
                new Variant(
                        "strict-line-passed-on",
                        "a lease is handed over within the process despite a strict order in the options",
                        TOKENS,
                        "&& options.fairness() == Fairness.BOUNDED_LOCAL_HAND_OVER",
                        "&& options.fairness() != null"));
    }
}
