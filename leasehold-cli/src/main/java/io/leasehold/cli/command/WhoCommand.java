package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Line;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasehold who}: the holder of a lock with its origin and health, the waiters, and possible actions. */
@Command(
        name = "who",
        header = "Shows the holder of a lock, and whether it is alive.",
        description = {
            "Also shows since when it holds, where it runs, when the lease ends, the",
            "waiters, and what you can do. Exits 1 and prints nothing if the lock is free."
        })
public final class WhoCommand implements Callable<Integer> {

    private final Invocation invocation;
    private final StoreOption store;

    @Parameters(index = "0", paramLabel = "LOCK", description = "The lock's name.")
    @SuppressWarnings("NullAway.Init")
    private String name;

    @Option(names = "--id", description = "Prints the holder's id and nothing else.")
    private boolean id;

    @Option(names = "--json", description = "Writes one line of JSON.")
    private boolean json;

    /** A command of this invocation. */
    public WhoCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() {
        LockName lock = LockName.exactly(name);
        LockView view;
        String permits;
        try (LockClient locks = StoreAccess.openExisting(invocation, store)) {
            view = LockView.of(locks, lock);
            permits = view.holder() == null ? PermitLines.hint(locks.admin(), lock, LockView.words(store)) : null;
        }
        Holder holder = view.holder();
        if (permits != null) {
            invocation.terminal().complain("the lock is free; " + permits);
        }
        if (json) {
            invocation.terminal().printJson(holder == null ? null : report(holder, view));
        } else if (holder != null && id) {
            invocation.terminal().print(view.holderIds());
        } else if (holder != null) {
            invocation.terminal().print(view.lines());
            List<String> advice = view.advice(holder, LockView.words(store));
            invocation.terminal().print(new Line(view.healthStyle(), advice.get(0)));
            invocation.terminal().print(advice.subList(1, advice.size()));
        }
        return holder == null ? ExitCode.FOUND.code() : ExitCode.OK.code();
    }

    private static Map<String, @Nullable Object> report(Holder holder, LockView view) {
        Map<String, @Nullable Object> report = HolderView.json(holder);
        view.addTo(report);
        return report;
    }
}
