package io.leasehold.cli.command;

import io.leasehold.cli.DurationConverter;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.process.OnLost;
import io.leasehold.cli.process.TypedWords;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A {@code run} in the form that scripts use: each option once, by its long name or as one of {@code -n -q -w -E}, then
 * the lock, {@code --} and the command.
 *
 * <p>It is read without picocli, whose model of the options takes a third of the processor time of a start. Any other
 * form, and any error, is left to picocli, which knows all forms and messages.
 */
public final class PlainRun {

    private final RunCommand command;
    private final LockedRun.Request request;

    private PlainRun(RunCommand command, LockedRun.Request request) {
        this.command = command;
        this.request = request;
    }

    /** The run that these arguments request; null if they are not plain. */
    public static @Nullable PlainRun of(List<String> arguments, Invocation invocation) {
        int dashes = arguments.indexOf("--");
        TypedWords typed = invocation.typed(arguments, 0);
        if (dashes < 0 || dashes + 1 == arguments.size()) {
            return null;
        }
        for (int i = 0; i < dashes; i++) {
            if (!typed.isText(i)) {
                return null;
            }
        }
        try {
            Words words = new Words(arguments.subList(0, dashes));
            RunCommand command = words.read(invocation, arguments.subList(dashes + 1, arguments.size()));
            return new PlainRun(command, command.request(arguments));
        } catch (IllegalArgumentException notPlain) {
            return null;
        }
    }

    /** Performs it; returns the exit code. */
    public int perform() throws InterruptedException {
        return command.run(request);
    }

    /** Its command, which reports failures. */
    public RunCommand command() {
        return command;
    }

    LockedRun.Request request() {
        return request;
    }

    /** The words before {@code --}, read one after the other; each refusal is an {@link IllegalArgumentException}. */
    private static final class Words {

        private static final Pattern PLAIN_NUMBER = Pattern.compile("0|[1-9][0-9]{0,4}");

        private final List<String> words;
        private final Set<String> seen = new HashSet<>();
        private int next;

        Words(List<String> words) {
            this.words = words;
        }

        RunCommand read(Invocation invocation, List<String> commandLine) {
            StoreOption store = new StoreOption();
            RunCommand command = new RunCommand(invocation, store);
            if (next < words.size() && words.get(next).startsWith("--store")) {
                set(command, store, words.get(next++));
            }
            require(next < words.size() && words.get(next++).equals("run"));
            while (next < words.size()) {
                String word = words.get(next++);
                if (word.startsWith("-")) {
                    set(command, store, word);
                } else {
                    require(command.lock == null);
                    command.lock = word;
                }
            }
            require(command.lock != null);
            command.command = commandLine;
            return command;
        }

        private void set(RunCommand command, StoreOption store, String word) {
            switch (word.startsWith("--") ? word.split("=", 2)[0] : word) {
                case "--store" -> store.name(value(word));
                case "--wait", "-w" -> command.wait = duration(word);
                case "--ttl" -> command.ttl = duration(word);
                case "--grace" -> command.grace = duration(word);
                case "--at-least" -> command.atLeast = duration(word);
                case "--claim" -> command.claim = duration(word);
                case "--export" -> command.export = value(word);
                case "--resume" -> command.resume = value(word);
                case "--conflict-exit-code", "-E" -> command.conflictExitCode = number(word);
                case "--permit" -> command.permit = number(word);
                case "--take" -> command.take = number(word);
                case "--read" -> command.read = flag(word);
                case "--metrics" -> command.metricsPort = number(word);
                case "--on-lost" -> command.onLost = oneOf(OnLost.class, word);
                case "--on-busy" -> command.onBusy = oneOf(RunCommand.OnBusy.class, word);
                case "--no-wait", "-n" -> command.noWait = flag(word);
                case "--require-containment" -> command.requireContainment = flag(word);
                case "--json" -> command.json = flag(word);
                case "--quiet", "-q" -> command.quiet = flag(word);
                default -> require(false);
            }
        }

        private boolean flag(String word) {
            require(word.indexOf('=') < 0);
            once(word);
            return true;
        }

        /** The value after {@code =}, or the next word. */
        private String value(String word) {
            int equals = word.startsWith("--") ? word.indexOf('=') : -1;
            once(equals < 0 ? word : word.substring(0, equals));
            require(equals >= 0 || next < words.size());
            String value = equals < 0 ? words.get(next++) : word.substring(equals + 1);
            require(!value.isEmpty() && !value.startsWith("-"));
            return value;
        }

        private void once(String option) {
            require(seen.add(longName(option)));
        }

        private static String longName(String option) {
            return switch (option) {
                case "-w" -> "--wait";
                case "-E" -> "--conflict-exit-code";
                case "-n" -> "--no-wait";
                case "-q" -> "--quiet";
                default -> option;
            };
        }

        private Duration duration(String word) {
            return DurationConverter.read(value(word));
        }

        private int number(String word) {
            String value = value(word);
            require(PLAIN_NUMBER.matcher(value).matches());
            return Integer.parseInt(value);
        }

        private <E extends Enum<E>> E oneOf(Class<E> type, String word) {
            return Enum.valueOf(type, value(word).toUpperCase(Locale.ROOT));
        }

        private static void require(boolean isPlain) {
            if (!isPlain) {
                throw new IllegalArgumentException("not plain");
            }
        }
    }
}
