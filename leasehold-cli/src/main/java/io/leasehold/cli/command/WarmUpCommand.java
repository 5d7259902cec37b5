package io.leasehold.cli.command;

import io.leasehold.cli.Invocation;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.function.ToIntFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/**
 * {@code leasehold warm-up DIRECTORY}: does once what typical runs do, so that a JVM started with {@code
 * -XX:ArchiveClassesAtExit} keeps the classes they need. For the launcher only.
 */
@Command(name = "warm-up", hidden = true, description = "Loads what typical runs need; for the launcher.")
public final class WarmUpCommand implements Callable<Integer> {

    private final Invocation invocation;
    private final ToIntFunction<String[]> program;

    @Parameters(index = "0", paramLabel = "DIRECTORY", description = "A directory to be thrown away.")
    @SuppressWarnings("NullAway.Init")
    private Path directory;

    /**
     * A command of this invocation.
     *
     * @param program runs a whole command line
     */
    public WarmUpCommand(Invocation invocation, ToIntFunction<String[]> program) {
        this.invocation = invocation;
        this.program = program;
    }

    @Override
    public Integer call() {
        int code = warm("sqlite:" + directory.resolve("locks.db"));
        try (RedisServer server = RedisServer.start()) {
            code = Math.max(code, warm(server.uri()));
        } catch (ServerException noServerHere) {
            invocation.terminal().complain("no Redis to warm up with: " + noServerHere.getMessage());
        }
        return code;
    }

    private int warm(String store) {
        String[] run = {"--store", store, "run", "--wait=10s", "--json", "warm-up", "--", "/bin/sh", "-c", ":"};
        String[] list = {"--store", store, "ls"};
        return Math.max(program.applyAsInt(run), program.applyAsInt(list));
    }
}
