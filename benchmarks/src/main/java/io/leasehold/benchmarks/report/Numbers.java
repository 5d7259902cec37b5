package io.leasehold.benchmarks.report;

import java.util.Locale;

/** The format of numbers: three significant digits, with separated thousands. */
final class Numbers {

    private Numbers() {}

    static String show(double value) {
        double size = Math.abs(value);
        if (size >= 1_000) {
            return String.format(Locale.ROOT, "%,d", Math.round(value));
        }
        String format = size >= 100 || value == Math.rint(value) ? "%.0f" : size >= 10 ? "%.1f" : "%.2f";
        return String.format(Locale.ROOT, size < 0.1 && value != 0 ? "%.3f" : format, value);
    }

    static String show(Summary summary) {
        return show(summary.median()) + " (" + show(summary.least()) + "–" + show(summary.most()) + ")";
    }

    static String ratio(Summary summary) {
        return show(summary.median()) + "×";
    }
}
