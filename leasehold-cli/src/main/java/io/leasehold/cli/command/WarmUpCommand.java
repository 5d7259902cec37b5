package io.leasehold.cli.command;

import io.leasehold.cli.CommandProvider;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.function.ToIntFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/**
 * {@code leasehold warm-up DIRECTORY}: performs typical runs once, so that a JVM started with {@code
 * -XX:ArchiveClassesAtExit} keeps the classes they need. For the launcher only.
 */
@Command(name = "warm-up", hidden = true, header = "Loads what typical runs need; for the launcher.")
public final class WarmUpCommand implements Callable<Integer> {

    /** An address without a server: the driver's classes are loaded all the same. */
    private static final String NO_SERVER = "redis://127.0.0.1:1";

    private final List<CommandProvider> providers;
    private final ToIntFunction<String[]> program;

    @Parameters(index = "0", paramLabel = "DIRECTORY", description = "A directory to be thrown away.")
    @SuppressWarnings("NullAway.Init")
    private Path directory;

    /**
     * Creates a command that starts the servers of these providers.
     *
     * @param program runs a complete command line
     */
    public WarmUpCommand(List<CommandProvider> providers, ToIntFunction<String[]> program) {
        this.providers = List.copyOf(providers);
        this.program = program;
    }

    @Override
    public Integer call() {
        int code = warm("sqlite:" + directory.resolve("locks.db"));
        for (CommandProvider provider : providers) {
            OptionalInt withServer = provider.withServer(this::warm);
            if (withServer.isPresent()) {
                return Math.max(code, withServer.getAsInt());
            }
        }
        warm(NO_SERVER);
        return code;
    }

    private int warm(String store) {
        String[] run = {"--store", store, "run", "--wait=10s", "--json", "warm-up", "--", "/bin/sh", "-c", ":"};
        String[] list = {"--store", store, "ls"};
        return Math.max(program.applyAsInt(run), program.applyAsInt(list));
    }
}
