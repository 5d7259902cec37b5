package io.leasehold.cli.command;

import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.demo.DemoWorker;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code leasehold demo-worker}: one process of a demonstration; {@code demo} starts it. */
@Command(name = "demo-worker", hidden = true, description = "One process of a demonstration.")
public final class DemoWorkerCommand implements Callable<Integer> {

    private final Invocation invocation;

    @Parameters(index = "0", paramLabel = "NUMBER", description = "Its number.")
    private int number;

    @Parameters(index = "1", paramLabel = "DIRECTORY", description = "The demonstration's directory.")
    @SuppressWarnings("NullAway.Init")
    private Path directory;

    /** A command of this invocation. */
    public DemoWorkerCommand(Invocation invocation) {
        this.invocation = invocation;
    }

    @Override
    public Integer call() throws Exception {
        new DemoWorker(number, directory).work(invocation.environment().get(StoreOption.VARIABLE));
        return 0;
    }
}
