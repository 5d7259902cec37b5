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
 * Held locks with the data that needs a separate request for each lock: since when it is held, and the number of
 * waiters. To spare the store, only the first {@value #ASKED} locks are requested; for the others these data are
 * unknown.
 *
 * @param rows one for each lock
 */
record HeldTable(List<Row> rows) {

    private static final int ASKED = 100;
    private static final int MOST_WAITERS = 100;

    /**
     * One lock.
     *
     * @param since the time when it was acquired, by the holder's clock; null if unknown
     * @param waiters the number of waiters, one more than {@value #MOST_WAITERS} for any number above that; null if
     *     unknown
     */
    record Row(
            HeldLock lock,
            @Nullable Instant since,
            @Nullable Integer waiters) {

        /** The number of waiters. */
        String waiting() {
            return waiters == null ? "-" : waiters > MOST_WAITERS ? MOST_WAITERS + "+" : waiters.toString();
        }
    }

    /** Reads the data of these locks. */
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
                    // The list itself was permitted, and is more important than these data.
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
