package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.cli.DurationConverter;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Json;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasehold wait}: returns once the lock is free, without acquiring it. */
@Command(
        name = "wait",
        header = "Waits until a lock is free, without taking it.",
        description = "Exits 75 if it stays busy.")
public final class WaitCommand implements Callable<Integer> {

    private static final long POLL_MILLIS = 250;

    private final Invocation invocation;
    private final StoreOption store;

    @Parameters(index = "0", paramLabel = "LOCK", description = "The lock's name.")
    @SuppressWarnings("NullAway.Init")
    private String name;

    @Option(
            names = {"-w", "--wait"},
            paramLabel = "DUR",
            converter = DurationConverter.class,
            description = "Waits at most this long (without limit).")
    private @Nullable Duration wait;

    @Option(names = "--json", description = "Writes one line of JSON.")
    private boolean json;

    /** A command of this invocation. */
    public WaitCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() throws InterruptedException {
        LockName lock = LockName.exactly(name);
        long start = System.nanoTime();
        boolean down = false;
        try (LockClient locks = StoreAccess.openExisting(invocation, store)) {
            while (true) {
                Optional<Holder> holder = Optional.empty();
                try {
                    holder = locks.admin().inspect(lock);
                    if (down) {
                        invocation.terminal().complain("the store answers again");
                    }
                    down = false;
                    if (holder.isEmpty()) {
                        return ended(lock, null, start, ExitCode.OK);
                    }
                } catch (StoreUnavailableException e) {
                    if (!down) {
                        invocation.terminal().complain(e.getMessage() + "; retrying");
                    }
                    down = true;
                }
                long pause = pauseMillis(wait, System.nanoTime() - start);
                if (pause == 0) {
                    return ended(lock, holder.orElse(null), start, down ? ExitCode.STORE_UNAVAILABLE : ExitCode.BUSY);
                }
                Thread.sleep(pause);
            }
        }
    }

    /** The time until the next poll; 0 if the patience is over. The last poll comes when it ends. */
    static long pauseMillis(@Nullable Duration patience, long waitedNanos) {
        if (patience == null) {
            return POLL_MILLIS;
        }
        long left = patience.toNanos() - waitedNanos;
        return left <= 0 ? 0 : Math.min(POLL_MILLIS, left / 1_000_000 + 1);
    }

    private int ended(LockName lock, @Nullable Holder holder, long start, ExitCode code) {
        if (json) {
            Map<String, @Nullable Object> report = new LinkedHashMap<>();
            report.put("command", new Json.Word("wait"));
            report.put("lock", lock.text());
            report.put("free", code == ExitCode.OK);
            report.put("waitedMs", (System.nanoTime() - start) / 1_000_000);
            report.put("holder", holder == null ? null : HolderView.json(holder));
            invocation.terminal().printJson(report);
        } else if (code == ExitCode.BUSY) {
            invocation.terminal().complain("lock \"" + lock.text() + "\" is still " + HolderView.sentence(holder));
        }
        return code.code();
    }
}
