package io.leasehold.verify.variants;

import java.util.List;

/**
 * Variants of leases that travel. Those whose names are also in {@code verify/model/checks} break the same rule as there;
 * {@code resume-undone} is broken by keeping nothing of an attempt whose outcome is unknown.
 */
final class TicketVariants {

    private static final String NODE = "memory/NameState.java";
    private static final String EXPORT = "engine/LeaseExport.java";
    private static final String RESUME = "engine/ResumeMachine.java";
    private static final String EXPORT_SCRIPT = "redis/wire/export.lua";
    private static final String RESUME_SCRIPT = "redis/wire/resume.lua";

    private TicketVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "unconfirmed-export",
                        "a ticket is returned although the store has not confirmed it",
                        EXPORT,
                        "            unconfirmed(failed.error());\n            undo();\n",
                        "            result.complete(ticket);\n            ended.complete(ReleaseOutcome.EXPORTED);\n"),
                new Variant(
                        "export-is-not-undone",
                        "an export without a reply leaves the lock to the claim of a ticket that does not exist",
                        EXPORT,
                        "            unconfirmed(failed.error());\n            undo();\n",
                        "            unconfirmed(failed.error());\n"),
                new Variant(
                        "export-undo-in-the-wrong-order",
                        "the ticket's owner token ends first, and a late export then writes it",
                        EXPORT,
                        "            end(grant.owner(), grant.highestBallot(), undoNanos)\n",
                        """
                        end(ticketOwner, 0, undoNanos);
                        end(grant.owner(), grant.highestBallot(), undoNanos)
                        """),
                new Variant(
                        "export-undo-of-a-ttl",
                        "the undo of an export ends long before the claim of the ticket does",
                        EXPORT,
                        "ticket.claim().toNanos() + undoNanos",
                        "undoNanos"),
                new Variant(
                        "export-undone-too-early",
                        "the undo of an export frees a lock that must stay taken",
                        EXPORT,
                        "if (!keeping.isOn(context.runtime().nanoTime())) {",
                        "if (true) {"),
                new Variant(
                        "export-of-a-lost-lease-frees",
                        "the export of a lost lease frees a lock that must stay taken",
                        "engine/GrantMachine.java",
                        "boolean isKept = called.keeping().isOn(nowNanos);",
                        "boolean isKept = false;"),
                new Variant(
                        "export-loss-after-an-unknown-copy",
                        "a lease is reported as lost although its own export ended it",
                        EXPORT,
                        "return !unknown && ",
                        "return "),
                new Variant(
                        "export-loss-after-the-validity",
                        "a lease is reported as lost although its validity had ended before the answer",
                        EXPORT,
                        " && context.runtime().nanoTime() - grant.validUntilAtNanos() < 0;",
                        ";"),
                new Variant(
                        "export-after-the-validity",
                        "an export is repeated although the lock may have another holder",
                        EXPORT,
                        "repetition.failed(isFinal ? 0 : leftNanos)",
                        "repetition.failed(isFinal ? 0 : Math.max(1, leftNanos))"),
                new Variant(
                        "export-of-the-first-token",
                        "an export raises the fence to the token of its lease, not above the range of the grant",
                        "engine/HeldGrant.java",
                        ".send(owner, tokens, currentLease().token()",
                        ".send(owner, null, currentLease().token()"),
                new Variant(
                        "held-while-exported",
                        "the handle is valid until the store has replied",
                        "engine/ActiveLease.java",
                        "            releaseCalled = true;\n            LeaseNews all = news();\n",
                        "            LeaseNews all = news();\n"),
                new Variant(
                        "export-does-not-raise-in-memory",
                        "an export leaves the fence unchanged",
                        "memory/InMemoryNode.java",
                        "        entry.raise(request.ballot(), serverMicros());\n        boolean isKept",
                        "        boolean isKept"),
                new Variant(
                        "resume-takes-free-in-memory",
                        "a resume takes a free lock",
                        NODE,
                        "boolean isTheirs = ticket.equals(holder) ||",
                        "boolean isTheirs = holder == null || ticket.equals(holder) ||"),
                new Variant(
                        "resume-as-acquire-in-memory",
                        "a used ticket gives another lease",
                        NODE,
                        "boolean isTheirs = ticket.equals(holder) ||",
                        "boolean isTheirs = holder != null ||"),
                new Variant(
                        "export-does-not-raise",
                        "an export leaves the fence unchanged",
                        EXPORT_SCRIPT,
                        "if raised > math.max(fence, now - RETENTION) then",
                        "if false then"),
                new Variant(
                        "export-extends-the-claim",
                        "a copy of the export begins the claim again",
                        EXPORT_SCRIPT,
                        "local ours = holds == ARGV[1] .. ':'",
                        "local ours = holds == ARGV[1] .. ':' or holds == ARGV[3]:sub(1, 41)"),
                new Variant(
                        "export-without-memory",
                        "a server without memory refuses an export",
                        EXPORT_SCRIPT,
                        "('PEXPIRE', LOCK, left)",
                        "('PTTL', LOCK)"),
                new Variant(
                        "resume-as-acquire",
                        "a resume is an acquire with the ticket's owner token",
                        RESUME_SCRIPT,
                        "('SET', LOCK, ARGV[1], 'PX'",
                        "('SET', LOCK, ARGV[4] .. ARGV[1]:sub(41), 'PX'"),
                new Variant(
                        "resume-takes-free",
                        "a resume takes a free lock",
                        RESUME_SCRIPT,
                        "if holds and (holds == ARGV[4]",
                        "if left == -2 or holds and (holds == ARGV[4]"),
                new Variant(
                        "resume-below-the-fence",
                        "the ballot of a resume need not exceed the floor",
                        RESUME_SCRIPT,
                        "if candidate <= floor then",
                        "if candidate < 0 then"),
                new Variant(
                        "resume-that-forgets-itself",
                        "the repetition of a resume whose reply was lost is refused",
                        RESUME_SCRIPT,
                        " or is_own) then",
                        ") then"),
                new Variant(
                        "resume-keeps-the-claim",
                        "a holder that resumes and crashes leaves the lock taken for the rest of the claim",
                        RESUME_SCRIPT,
                        "is_own and left or 0",
                        "left"),
                new Variant(
                        "resume-keeps-the-claim-in-memory",
                        "a holder that resumes and crashes leaves the lock taken for the rest of the claim",
                        NODE,
                        "own != null && own.owner().equals(request.owner()) &&",
                        "own != null &&"),
                new Variant(
                        "resume-shortens-its-own-hold",
                        "a copy of a resume ends a hold of its own owner token earlier",
                        RESUME_SCRIPT,
                        "is_own and left or 0",
                        "0"),
                new Variant(
                        "resume-undone",
                        "an attempt with an unknown outcome is forgotten, and the next one finds the ticket used",
                        "engine/ResumeAttempt.java",
                        "        } finally {\n            settle(rest());",
                        "        } finally {\n            settle(null);"),
                new Variant(
                        "resume-twice-at-a-time",
                        "the owner token of a lease is given to the next attempt, and both get the lease",
                        RESUME,
                        "            unknown = false;\n            return new Hold(grant);",
                        "            return new Hold(grant);"),
                new Variant(
                        "resume-beside-another",
                        "an attempt is refused while a withdrawn one with the same ticket wins",
                        "engine/UnansweredResumes.java",
                        "turns == null || turns.taken ? null",
                        "turns == null ? null"),
                new Variant(
                        "resume-forgotten-without-a-ballot",
                        "an attempt that continues another at a store without ballots is forgotten when it fails",
                        RESUME,
                        "        unknown = true;\n    }",
                        "        unknown = ballotBefore > 0;\n    }"),
                new Variant(
                        "resume-left-at-the-close",
                        "a client that closes leaves the lock of an attempt that was answered late",
                        "engine/Attempts.java",
                        "        unansweredResumes.close();\n",
                        ""),
                new Variant(
                        "resume-shows-too-little",
                        "a lease whose reply was slow is shown with less than the least validity",
                        RESUME,
                        "if (leftNanos >= Math.max(1, timings.minimumValidityNanos())) {",
                        "if (leftNanos > -timings.ttlNanos()) {"),
                new Variant(
                        "resume-beyond-the-claim",
                        "a ticket is tried after its claim",
                        RESUME,
                        "Math.min(Math.min(maxWaitNanos, claimNanos), Long.MAX_VALUE / 4)",
                        "Math.min(maxWaitNanos, Long.MAX_VALUE / 4)"));
    }
}
