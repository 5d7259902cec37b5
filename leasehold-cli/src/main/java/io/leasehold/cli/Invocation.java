package io.leasehold.cli;

import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.TypedWords;
import java.util.List;
import java.util.Map;

/**
 * The context of one start of the program.
 *
 * @param terminal its output
 * @param environment the environment variables
 * @param typed the arguments as typed
 */
public record Invocation(Terminal terminal, Map<String, String> environment, TypedWords typed) {

    /** Copies the environment. */
    public Invocation {
        environment = Map.copyOf(environment);
    }

    /** An invocation whose arguments are known only as texts. */
    public Invocation(Terminal terminal, Map<String, String> environment) {
        this(terminal, environment, TypedWords.ofTexts(List.of()));
    }

    /** The bytes of these arguments, from the given index on. */
    public TypedWords typed(List<String> arguments, int from) {
        TypedWords all = typed.texts().equals(arguments) ? typed : TypedWords.ofTexts(arguments);
        return all.from(from);
    }
}
