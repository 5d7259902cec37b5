package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Json;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasehold who}: the holder's id and nothing else. */
@Command(name = "who", description = "Prints who holds a lock. Exits 1 if nobody does.")
public final class WhoCommand implements Callable<Integer> {

    private final Invocation invocation;
    private final StoreOption store;

    @Parameters(index = "0", paramLabel = "LOCK", description = "The lock's name.")
    @SuppressWarnings("NullAway.Init")
    private String name;

    @Option(names = "--json", description = "As one line of JSON.")
    private boolean json;

    /** A command of this invocation. */
    public WhoCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() {
        LockName lock = LockName.exactly(name);
        Optional<Holder> holder;
        ClientView client;
        try (LockClient locks = StoreAccess.open(invocation, store)) {
            holder = locks.admin().inspect(lock);
            client = json ? ClientView.of(locks.admin(), lock, holder.orElse(null)) : null;
        }
        if (json) {
            invocation
                    .terminal()
                    .print(holder.map(h -> Json.of(report(h, client))).orElse("null"));
        } else {
            holder.ifPresent(h -> invocation.terminal().print(h.id()));
        }
        return holder.isPresent() ? ExitCode.OK.code() : ExitCode.FOUND.code();
    }

    private static Map<String, @Nullable Object> report(Holder holder, @Nullable ClientView client) {
        Map<String, @Nullable Object> report = HolderView.json(holder);
        report.put("client", ClientView.json(client));
        return report;
    }
}
