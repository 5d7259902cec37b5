package io.leasehold.cli.demo;

import java.util.List;
import java.util.Locale;

/** How a verdict is shown: three checks, each with what was found, and one sentence. */
final class VerdictView {

    private static final int EXAMPLES = 2;

    private final Timeline timeline;
    private final DemoSettings settings;

    VerdictView(Timeline timeline, DemoSettings settings) {
        this.timeline = timeline;
        this.settings = settings;
    }

    void show(HistoryVerdict verdict) {
        timeline.text(Ink.PLAIN, "");
        timeline.text(
                Ink.BOLD,
                "Verdict, from nothing but what the " + settings.workers() + " processes wrote to their files");
        int overlaps = verdict.overlaps().size();
        row(
                overlaps == 0,
                "two holders at once",
                overlaps == 0
                        ? "never, in " + verdict.holds() + " turns"
                        : overlaps + (overlaps == 1 ? " pair" : " pairs"));
        examples(verdict.overlaps());
        int disorders = verdict.tokenDisorders().size();
        if (verdict.tokens() == 0) {
            timeline.text(Ink.DIM, "  -   fencing tokens        none: there was no lock to hand them out");
        } else {
            row(
                    disorders == 0,
                    "fencing tokens",
                    disorders == 0
                            ? "each larger than all before, " + verdict.tokens() + " of them"
                            : "out of order " + times(disorders));
        }
        examples(verdict.tokenDisorders());
        String sum = verdict.increments() + " increments, and the number is " + verdict.counter();
        row(
                verdict.lostUpdates() == 0 && verdict.inventedUpdates() == 0,
                "lost updates",
                verdict.lostUpdates() + ": " + sum);
        timeline.text(Ink.PLAIN, "");
        if (verdict.held()) {
            timeline.text(Ink.GREEN, "HELD: one holder at a time, also when one died holding the lock.");
            timeline.text(Ink.DIM, "Now see it without: leasehold demo --without-lock");
        } else if (settings.withLock()) {
            timeline.text(Ink.RED, "VIOLATED: the lock did not keep its promise.");
        } else {
            timeline.text(Ink.RED, "VIOLATED, as it must be without a lock. With it: leasehold demo");
        }
    }

    private void row(boolean good, String check, String finding) {
        String mark = good ? "  ✓   " : "  ✗   ";
        timeline.text(good ? Ink.GREEN : Ink.RED, mark + String.format(Locale.ROOT, "%-20s  ", check) + finding);
    }

    private void examples(List<String> violations) {
        violations.stream().limit(EXAMPLES).forEach(violation -> timeline.text(Ink.DIM, "      " + violation));
        if (violations.size() > EXAMPLES) {
            timeline.text(Ink.DIM, "      and " + (violations.size() - EXAMPLES) + " more");
        }
    }

    private static String times(int count) {
        return count == 1 ? "once" : count + " times";
    }
}
