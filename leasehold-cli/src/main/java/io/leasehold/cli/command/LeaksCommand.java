package io.leasehold.cli.command;

import io.leasehold.LockClient;
import io.leasehold.admin.Leak;
import io.leasehold.cli.DurationConverter;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Json;
import io.leasehold.cli.output.Table;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasehold leaks}: finds leaked locks. */
@Command(
        name = "leaks",
        header = "Finds holds and waiters that should not be there.",
        description = {
            "These are locks that never end, holders that are gone, waiters of free",
            "locks, leftover keys and holds that last too long. Exits 1 if it finds any."
        })
public final class LeaksCommand implements Callable<Integer> {

    private final Invocation invocation;
    private final StoreOption store;

    @Option(
            names = "--older-than",
            paramLabel = "DUR",
            converter = DurationConverter.class,
            description = "Counts a hold longer than this as a leak (15m).")
    private Duration olderThan = Duration.ofMinutes(15);

    @Option(names = "--json", description = "Writes one line of JSON for each leak.")
    private boolean json;

    /** A command of this invocation. */
    public LeaksCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() {
        List<Leak> leaks;
        try (LockClient locks = StoreAccess.openExisting(invocation, store);
                Progress progress = Progress.of(locks.admin(), invocation.terminal())) {
            leaks = locks.admin().leaks(olderThan);
        }
        if (json) {
            leaks.forEach(leak -> invocation.terminal().printJson(json(leak)));
        } else if (!leaks.isEmpty()) {
            Table table = new Table("LEAK", "SUBJECT", "WHY");
            leaks.forEach(leak -> table.row(kind(leak), leak.subject(), leak.detail()));
            invocation.terminal().print(table.lines());
        }
        return (leaks.isEmpty() ? ExitCode.OK : ExitCode.FOUND).code();
    }

    private static String kind(Leak leak) {
        return leak.kind().name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static Map<String, @Nullable Object> json(Leak leak) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("kind", new Json.Word(kind(leak)));
        json.put("subject", leak.subject());
        json.put("detail", leak.detail());
        return json;
    }
}
