package io.leasehold.cli.command;

import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.demo.DemoScreen;
import io.leasehold.cli.demo.DemoScreen.Style;
import io.leasehold.cli.demo.FirstDemo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasehold demo}: a lock at work before one's eyes. */
@Command(
        name = "demo",
        description = "Shows processes fight for a lock on a real Redis of its own, and judges what they wrote down.",
        footer = "%nExit code: 0 if the lock held what it promises, 1 if violations were found.")
public final class DemoCommand implements Callable<Integer> {

    /** What can be shown. */
    public enum Scenario {
        /** Several processes, one lock, one kill. */
        FIRST
    }

    private final Invocation invocation;

    @Parameters(index = "0", arity = "0..1", paramLabel = "SCENARIO", description = "What to show: first (the default).")
    private Scenario scenario = Scenario.FIRST;

    @Option(names = "--without-lock", description = "The same without the lock: finds violations.")
    private boolean withoutLock;

    @Option(names = "--judge", paramLabel = "FILE", description = "Only judge a history that was written before.")
    private @Nullable Path judged;

    @Option(names = "--json", description = "Only the verdict, as one line of JSON.")
    private boolean json;

    /** A command of this invocation. */
    public DemoCommand(Invocation invocation) {
        this.invocation = invocation;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        DemoScreen screen = new DemoScreen(invocation.terminal(), style());
        if (judged != null) {
            return code(FirstDemo.judge(judged, screen));
        }
        return switch (scenario) {
            case FIRST -> {
                FirstDemo demo = new FirstDemo(Files.createTempDirectory("leasehold-demo-"), !withoutLock, screen);
                demo.play();
                yield code(demo.judge());
            }
        };
    }

    private Style style() {
        if (json) {
            return Style.JSON;
        }
        boolean dumb = "dumb".equals(invocation.environment().get("TERM"))
                || invocation.environment().containsKey("NO_COLOR");
        return System.console() != null && !dumb ? Style.COLOURED : Style.PLAIN;
    }

    private static int code(boolean good) {
        return good ? ExitCode.OK.code() : ExitCode.FOUND.code();
    }
}
