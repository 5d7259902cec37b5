package io.leasehold.cli.command;

import io.leasehold.cli.CommandProvider;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.StoreOption;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.function.ToIntFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/**
 * {@code leasehold warm-up DIRECTORY}: performs typical commands once, so that a JVM started with {@code
 * -XX:DumpLoadedClassList} lists the classes they need; with {@code -- COMMAND}, starts that command with a Redis server as its
 * store. For the launcher only.
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

    @Parameters(index = "1..*", arity = "0..*", paramLabel = "COMMAND", description = "A command that needs a server.")
    private List<String> command = List.of();

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
        if (!command.isEmpty()) {
            return overRedis(this::start).orElseGet(this::startWithoutServer);
        }
        int code = warm("sqlite:" + directory.resolve("locks.db"));
        OptionalInt withServer = overRedis(this::warm);
        if (withServer.isPresent()) {
            return Math.max(code, withServer.getAsInt());
        }
        warm(NO_SERVER);
        return code;
    }

    /** The result of the action with the URI of a server; empty if none can be started. */
    private OptionalInt overRedis(ToIntFunction<String> action) {
        for (CommandProvider provider : providers) {
            OptionalInt result = provider.withServer(action);
            if (result.isPresent()) {
                return result;
            }
        }
        return OptionalInt.empty();
    }

    private int startWithoutServer() {
        int code = start(NO_SERVER);
        return code == ExitCode.STORE_UNAVAILABLE.code() ? ExitCode.OK.code() : code;
    }

    private int start(String store) {
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        builder.environment().put(StoreOption.VARIABLE, store);
        try {
            return builder.start().waitFor();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return ExitCode.INTERNAL.code();
        }
    }

    private int warm(String store) {
        String[] run = {"--store", store, "run", "--wait=10s", "--json", "warm-up", "--", "/bin/sh", "-c", ":"};
        String[] list = {"--store", store, "ls"};
        return Math.max(program.applyAsInt(run), program.applyAsInt(list));
    }
}
