package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Json;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasehold show}: one lock, and what its store promises. */
@Command(
        name = "show",
        description = "Shows one lock: who holds it, for how long, at which store. Exits 1 if it is free.")
public final class ShowCommand implements Callable<Integer> {

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
        Holder holder;
        String where;
        String promises;
        try (LockClient locks = StoreAccess.open(invocation, store)) {
            Optional<Holder> found = locks.admin().inspect(lock);
            holder = found.orElse(null);
            where = locks.storeDescription();
            promises = locks.guarantees().toString();
        }
        if (json) {
            Map<String, @Nullable Object> report = new LinkedHashMap<>();
            report.put("lock", lock.text());
            report.put("store", where);
            report.put("holder", holder == null ? null : HolderView.json(holder));
            invocation.terminal().print(Json.of(report));
        } else {
            invocation.terminal().print("lock      " + lock.text());
            invocation.terminal().print("state     " + (holder == null ? "free" : "held"));
            if (holder != null) {
                invocation.terminal().print("holder    " + holder.id());
                invocation.terminal().print("token     " + HolderView.token(holder));
                invocation.terminal().print("left      " + HolderView.remaining(holder));
            }
            invocation.terminal().print("store     " + where);
            invocation.terminal().print("promises  " + promises);
        }
        return holder == null ? ExitCode.FOUND.code() : ExitCode.OK.code();
    }
}
