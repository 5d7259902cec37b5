package io.leasehold.cli.command;

import io.leasehold.Guarantee;
import io.leasehold.Holder;
import io.leasehold.LockAdmin;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.Waiter;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasehold show}: one lock, and what its store promises. */
@Command(
        name = "show",
        description = "Shows one lock: who holds it, for how long, who waits, at which store. Exits 1 if it is free.")
public final class ShowCommand implements Callable<Integer> {

    private static final int MOST_WAITERS = 100;

    private final Invocation invocation;
    private final StoreOption store;

    @Parameters(index = "0", paramLabel = "LOCK", description = "The lock's name.")
    @SuppressWarnings("NullAway.Init")
    private String name;

    @Option(names = "--json", description = "As one line of JSON.")
    private boolean json;

    /** A command of this invocation. */
    public ShowCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() {
        LockName lock = LockName.exactly(name);
        Seen seen;
        try (LockClient locks = StoreAccess.open(invocation, store)) {
            LockAdmin admin = locks.admin();
            Holder holder = admin.inspect(lock).orElse(null);
            boolean line = locks.guarantees().covers(Guarantee.Queueing.FIFO);
            seen = new Seen(
                    lock,
                    holder,
                    ClientView.of(admin, lock, holder),
                    line ? admin.waiters(lock, MOST_WAITERS + 1) : null,
                    locks.storeDescription(),
                    locks.guarantees().toString());
        }
        if (json) {
            invocation.terminal().print(Json.of(report(seen)));
        } else {
            print(seen);
        }
        return seen.holder() == null ? ExitCode.FOUND.code() : ExitCode.OK.code();
    }

    /**
     * What the store told.
     *
     * @param client what the holder tells of itself, if it does
     * @param waiters one more than are shown, if there are more; null if the store keeps no queue
     */
    private record Seen(
            LockName lock,
            @Nullable Holder holder,
            @Nullable ClientView client,
            @Nullable List<Waiter> waiters,
            String store,
            String promises) {}

    private static Map<String, @Nullable Object> report(Seen seen) {
        Holder holder = seen.holder();
        List<Waiter> waiters = seen.waiters();
        Map<String, @Nullable Object> report = new LinkedHashMap<>();
        report.put("lock", seen.lock().text());
        report.put("store", seen.store());
        report.put("holder", holder == null ? null : HolderView.json(holder));
        report.put("client", ClientView.json(seen.client()));
        report.put(
                "waiters",
                waiters == null
                        ? null
                        : waiters.stream()
                                .limit(MOST_WAITERS)
                                .map(HolderView::json)
                                .toList());
        return report;
    }

    private void print(Seen seen) {
        Holder holder = seen.holder();
        List<String> lines = new ArrayList<>();
        lines.add("lock      " + seen.lock().text());
        lines.add("state     " + (holder == null ? "free" : "held"));
        if (holder != null) {
            lines.add("holder    " + holder.id());
            lines.add("token     " + HolderView.token(holder));
            lines.add("left      " + HolderView.remaining(holder));
            ClientView client = seen.client();
            if (client != null) {
                lines.addAll(client.lines());
            }
        }
        lines.addAll(line(seen.waiters()));
        lines.add("store     " + seen.store());
        lines.add("promises  " + seen.promises());
        invocation.terminal().print(lines);
    }

    private static List<String> line(@Nullable List<Waiter> waiters) {
        if (waiters == null) {
            return List.of("waiters   not known: this store keeps no queue");
        }
        if (waiters.isEmpty()) {
            return List.of("waiters   none");
        }
        List<String> lines = new ArrayList<>();
        for (Waiter waiter : waiters.subList(0, Math.min(waiters.size(), MOST_WAITERS))) {
            lines.add((lines.isEmpty() ? "waiters   " : "          ") + HolderView.line(waiter));
        }
        if (waiters.size() > MOST_WAITERS) {
            lines.add("          and more");
        }
        return lines;
    }
}
