package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasehold show}: one lock, and the promises of its store. */
@Command(
        name = "show",
        header = "Shows one lock: its holder, its waiters and its store.",
        description = "Exits 1 if the lock is free.")
public final class ShowCommand implements Callable<Integer> {

    private final Invocation invocation;
    private final StoreOption store;

    @Parameters(index = "0", paramLabel = "LOCK", description = "The lock's name.")
    @SuppressWarnings("NullAway.Init")
    private String name;

    @Option(names = "--json", description = "Writes one line of JSON.")
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
        try (LockClient locks = StoreAccess.openExisting(invocation, store)) {
            seen = new Seen(
                    LockView.of(locks, lock),
                    locks.storeDescription(),
                    locks.guarantees().toString(),
                    PermitLines.hint(locks.admin(), lock, LockView.words(store)));
        }
        if (json) {
            invocation.terminal().printJson(report(seen));
        } else {
            print(seen);
        }
        return seen.view().holder() == null ? ExitCode.FOUND.code() : ExitCode.OK.code();
    }

    private record Seen(
            LockView view,
            String store,
            String promises,
            @Nullable String permits) {}

    private static Map<String, @Nullable Object> report(Seen seen) {
        Holder holder = seen.view().holder();
        Map<String, @Nullable Object> report = new LinkedHashMap<>();
        report.put("lock", seen.view().lock().text());
        report.put("store", seen.store());
        report.put("holder", holder == null ? null : HolderView.json(holder));
        seen.view().addTo(report);
        return report;
    }

    private void print(Seen seen) {
        List<String> lines = new ArrayList<>();
        lines.add("lock      " + seen.view().lock().text());
        lines.add("state     " + (seen.view().holder() == null ? "free" : "held"));
        lines.addAll(seen.view().lines());
        if (seen.permits() != null) {
            lines.add("permits   " + seen.permits());
        }
        lines.add("store     " + seen.store());
        lines.add("promises  " + seen.promises());
        invocation.terminal().print(lines);
    }
}
