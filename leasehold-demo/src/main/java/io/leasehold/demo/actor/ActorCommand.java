package io.leasehold.demo.actor;

import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasehold demo-actor}: a process of a demonstration that receives each step; not to be started by hand. */
@Command(name = ActorCommand.NAME, hidden = true, description = "One of the processes of demo.")
public final class ActorCommand implements Callable<Integer> {

    /** The verb. */
    public static final String NAME = "demo-actor";

    private final Invocation invocation;

    @Option(names = "--name", required = true, description = "The actor's name.")
    @SuppressWarnings("NullAway.Init")
    private String name;

    /** A command of this invocation. */
    public ActorCommand(Invocation invocation) {
        this.invocation = invocation;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        Words words = Words.follow(System.in, invocation.terminal()::print);
        try (Part part = new Part(name, words)) {
            words.say(Words.READY);
            for (String line = words.next(); !line.equals(Words.LEAVE); line = words.next()) {
                words.say(part.play(line.split(" ", -1)));
            }
        }
        words.say(Words.LEFT);
        return ExitCode.OK.code();
    }
}
