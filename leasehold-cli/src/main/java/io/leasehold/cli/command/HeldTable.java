package io.leasehold.cli.command;

import io.leasehold.Guarantee;
import io.leasehold.Holder;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.cli.output.Line;
import io.leasehold.cli.output.Style;
import io.leasehold.cli.output.Table;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Held locks with what the store has to be asked about each: since when it is held, and how many wait. To spare the store, only the
 * first {@value #ASKED} are asked about; of the others it is not known.
 *
 * @param rows one for each lock
 */
record HeldTable(List<Row> rows) {

    private static final int ASKED = 100;
    private static final int MOST_WAITERS = 100;

    /**
     * One lock.
     *
     * @param since when it was taken, by the holder's clock; null if that is not known
     * @param waiters how many wait, one more than {@value #MOST_WAITERS} for any number above that; null if it is not known
     */
    record Row(
            HeldLock lock,
            @Nullable Instant since,
            @Nullable Integer waiters) {

        /** How many wait. */
        String waiting() {
            return waiters == null ? "-" : waiters > MOST_WAITERS ? MOST_WAITERS + "+" : waiters.toString();
        }
    }

    /** Asks the store about these. */
    static HeldTable of(LockClient locks, List<HeldLock> held) {
        LockAdmin admin = locks.admin();
        boolean queues = locks.guarantees().covers(Guarantee.Queueing.FIFO);
        Map<String, Optional<ClientRecord>> clients = new HashMap<>();
        List<Row> rows = new ArrayList<>();
        boolean asks = true;
        for (HeldLock lock : held) {
            Instant since = null;
            Integer waiters = null;
            if (asks && rows.size() < ASKED) {
                try {
                    since = clients.computeIfAbsent(lock.holder().id(), admin::client)
                            .flatMap(client -> client.holdOf(lock.name()))
                            .map(ClientRecord.ClientHold::since)
                            .orElse(null);
                    waiters = queues
                            ? admin.waiters(lock.name(), MOST_WAITERS + 1).size()
                            : null;
                } catch (LockStoreException refused) {
                    // The list itself was allowed, and is worth more than this.
                    asks = false;
                }
            }
            rows.add(new Row(lock, since, waiters));
        }
        return new HeldTable(rows);
    }

    /** The lines of the table, the heading first, each row in its style. */
    List<Line> lines(Function<Row, Style> style) {
        List<String> texts = texts();
        List<Line> lines = new ArrayList<>(List.of(new Line(Style.HEADING, texts.get(0))));
        for (int i = 0; i < rows.size(); i++) {
            lines.add(new Line(style.apply(rows.get(i)), texts.get(i + 1)));
        }
        return lines;
    }

    private List<String> texts() {
        Table table = new Table("LOCK", "USER", "COMMAND", "SINCE", "WAITERS", "LEFT", "TOKEN", "HOLDER");
        for (Row row : rows) {
            Holder holder = row.lock().holder();
            RunLabel label = RunLabel.in(holder.id());
            Instant since = row.since();
            table.row(
                    row.lock().name().text(),
                    label == null ? "-" : label.user(),
                    label == null ? "-" : label.command(),
                    since == null ? "-" : since.truncatedTo(ChronoUnit.SECONDS).toString(),
                    row.waiting(),
                    HolderView.remaining(holder),
                    HolderView.token(holder),
                    holder.id());
        }
        return table.lines();
    }
}
