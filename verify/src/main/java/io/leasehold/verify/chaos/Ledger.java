package io.leasehold.verify.chaos;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The committed table of the results of chaos runs, one row per store, to which every run with {@code --ledger} adds.
 *
 * <p>Tab-separated: store, runs, seconds, acquisitions, updates acknowledged and lost at the checking resource, the
 * same at the naive one, violations.
 */
final class Ledger {

    private static final String HEAD = "# store\truns\tseconds\tacquisitions\tchecking\tchecking lost\tnaive"
            + "\tnaive lost\tviolations; added to by: verify/run chaos --ledger";
    private static final int COLUMNS = 9;

    private Ledger() {}

    /** Adds a run, and returns the new row of its store. */
    static String add(Path file, String store, Verdict.Figures run) throws IOException {
        List<String> lines = Files.exists(file) ? new ArrayList<>(Files.readAllLines(file)) : new ArrayList<>();
        if (lines.isEmpty()) {
            lines.add(HEAD);
        }
        long[] sums = {
            1,
            run.seconds(),
            run.acquisitions(),
            run.checking(),
            run.checkingLost(),
            run.naive(),
            run.naiveLost(),
            run.violations()
        };
        int at = -1;
        for (int i = 0; i < lines.size(); i++) {
            String[] columns = lines.get(i).split("\t", -1);
            if (columns[0].equals(store)) {
                if (columns.length != COLUMNS) {
                    throw new IOException(
                            file + ", line " + (i + 1) + ": " + columns.length + " columns, not " + COLUMNS);
                }
                at = i;
                for (int c = 0; c < sums.length; c++) {
                    sums[c] += Long.parseLong(columns[c + 1]);
                }
            }
        }
        StringBuilder row = new StringBuilder(store);
        for (long sum : sums) {
            row.append('\t').append(sum);
        }
        if (at < 0) {
            lines.add(row.toString());
        } else {
            lines.set(at, row.toString());
        }
        Files.write(file, lines);
        return String.format(
                Locale.ROOT,
                "ledger %s: %d runs, %.2f h, checking lost %d of %d, naive lost %d of %d",
                store,
                sums[0],
                sums[1] / 3_600.0,
                sums[4],
                sums[3],
                sums[6],
                sums[5]);
    }
}
