package io.leasehold.verify.variants;

import java.util.List;

/** Variants of checks of the validity that renew a lease and wait for the reply. */
final class CheckVariants {

    private static final String WAITING = "engine/WaitingChecks.java";
    private static final String WAIT = "engine/ValidityWait.java";

    private CheckVariants() {}

    static List<Variant> all() {
        return List.of(
                new Variant(
                        "ensure-passes-by-the-answer",
                        "a renewal with a reply passes a check, whatever validity is left since its sending",
                        WAIT,
                        "LeaseAtRiskException still = part.lease.riskAfter(verdict, wanted);",
                        "LeaseAtRiskException still = verdict instanceof WaitingChecks.TooLittle ? null :"
                                + " part.lease.riskAfter(verdict, wanted);"),
                new Variant(
                        "ensure-shares-what-left-before",
                        "the reply to a renewal that was sent before is final for a check",
                        WAITING,
                        "machine.renewals() + (machine.isToLeave() ? 0 : 1));",
                        "machine.renewals() + (machine.isRenewing() ? 0 : 1));"),
                new Variant(
                        "ensure-without-asking",
                        "a check that could wait reports at risk without a request to the store",
                        WAIT,
                        "if (!areRenewed(leases) || InlineThread.isCurrent()) {",
                        "if (!leases.isEmpty()) {"),
                new Variant(
                        "ensure-sends-no-other",
                        "after a renewal that is not enough, no other is sent",
                        WAITING,
                        "} else if (!machine.isRenewing()) {",
                        "} else if (machine.renewals() == 0) {"),
                new Variant(
                        "ensure-beyond-the-end",
                        "a check keeps waiting after its lease has ended",
                        WAITING,
                        "            return end(machine);\n",
                        "            return machine.isRenewing() ? null : end(machine);\n"),
                new Variant(
                        "ensure-for-ever",
                        "a check waits for a reply without a limit",
                        WAITING,
                        "return nowNanos - one.limitAtNanos >= 0 ? new Unanswered() : null;",
                        "return null;"),
                new Variant(
                        "ensure-first-part",
                        "of several leases as one only the first is checked",
                        WAIT,
                        "first = first == null ? risk : first;",
                        "first = lease == leases.get(0) ? risk : first;"),
                new Variant(
                        "ensure-parts-not-again",
                        "several leases are not checked again after the wait for the slowest reply",
                        WAIT,
                        "LeaseAtRiskException still = part.lease.riskAfter(verdict, wanted);",
                        "LeaseAtRiskException still = verdict instanceof WaitingChecks.Passed ? null :"
                                + " part.lease.riskAfter(verdict, wanted);"),
                new Variant(
                        "ensure-believes-a-sleep",
                        "a check passes with a validity that was not confirmed since the machine slept",
                        WAITING,
                        "long leftNanos = machine.remainingNanos(nowNanos);",
                        "long leftNanos = machine.validUntilAtNanos() - nowNanos;"),
                new Variant(
                        "ensure-for-the-next-holder",
                        "a check of a released lease passes with the lease of the next holder in the process",
                        "engine/HeldGrant.java",
                        "return current == lease && givenBack != lease;",
                        "return machine.isHeld();"));
    }
}
