package io.leasehold.demo;

import io.leasehold.demo.history.HistoryVerdict;
import io.leasehold.demo.history.HistoryVerdict.Promise;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** The display of a verdict: one line per promise, each with its finding. */
final class VerdictView {

    private static final int EXAMPLES = 2;

    private final Timeline timeline;

    VerdictView(Timeline timeline) {
        this.timeline = timeline;
    }

    /**
     * Shows it.
     *
     * @param promises the promises that had to be kept; the others are shown, too
     * @param whyNotAll the reason why the others need not be kept; unused if there are none
     * @param writers the number of processes that wrote a file
     */
    void show(HistoryVerdict verdict, Set<Promise> promises, String whyNotAll, int writers) {
        timeline.text(Ink.PLAIN, "");
        timeline.text(Ink.BOLD, "Verdict, from nothing but what the " + writers + " processes wrote to their files");
        int overlaps = verdict.overlaps().size();
        row(
                mark(verdict, promises, Promise.EXCLUSION),
                "two holders at once",
                overlaps == 0
                        ? "never, in " + verdict.holds() + " turns"
                        : overlaps + (overlaps == 1 ? " pair" : " pairs"));
        examples(verdict.overlaps());
        int disorders = verdict.tokenDisorders().size();
        if (verdict.tokens() == 0) {
            timeline.text(Ink.DIM, "  -   fencing tokens        none: no lock issued them");
        } else {
            row(
                    mark(verdict, promises, Promise.TOKENS),
                    "fencing tokens",
                    disorders == 0
                            ? "each larger than all before, " + verdict.tokens() + " of them"
                            : "out of order " + times(disorders));
        }
        examples(verdict.tokenDisorders());
        String sum = verdict.increments() + " increments, and the number is " + verdict.counter();
        row(mark(verdict, promises, Promise.UPDATES), "lost updates", verdict.lostUpdates() + ": " + sum);
        if (verdict.rejected() > 0) {
            timeline.text(Ink.DIM, "      stale tokens refused by the counter " + times(verdict.rejected()));
        }
        if (!verdict.lockedOut().isEmpty()) {
            row(Mark.BAD, "locked out forever", String.join(", ", verdict.lockedOut()));
        }
        if (!verdict.losses().isEmpty()) {
            timeline.text(Ink.DIM, "      told of the end of its lease: " + String.join(", ", verdict.losses()));
        }
        if (!promises.equals(HistoryVerdict.ALL)) {
            timeline.text(Ink.DIM, "      ~ " + whyNotAll);
        }
        timeline.text(Ink.PLAIN, "");
    }

    private enum Mark {
        GOOD("✓", Ink.GREEN),
        BAD("✗", Ink.RED),
        NOT_PROMISED("~", Ink.YELLOW);

        private final String symbol;
        private final Ink ink;

        Mark(String symbol, Ink ink) {
            this.symbol = symbol;
            this.ink = ink;
        }
    }

    private static Mark mark(HistoryVerdict verdict, Set<Promise> promises, Promise promise) {
        if (verdict.kept(promise)) {
            return Mark.GOOD;
        }
        return promises.contains(promise) ? Mark.BAD : Mark.NOT_PROMISED;
    }

    private void row(Mark mark, String check, String finding) {
        timeline.text(mark.ink, "  " + mark.symbol + "   " + String.format(Locale.ROOT, "%-20s  ", check) + finding);
    }

    private void examples(List<String> violations) {
        violations.stream().limit(EXAMPLES).forEach(violation -> timeline.text(Ink.DIM, "      " + violation));
        if (violations.size() > EXAMPLES) {
            timeline.text(Ink.DIM, "      and " + (violations.size() - EXAMPLES) + " more");
        }
    }

    private static String times(long count) {
        return count == 1 ? "once" : count + " times";
    }
}
