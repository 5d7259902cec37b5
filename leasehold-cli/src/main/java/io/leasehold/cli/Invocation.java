package io.leasehold.cli;

import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.TypedWords;
import java.util.List;
import java.util.Map;

/**
 * What one start of the program brings with it.
 *
 * @param terminal where it writes
 * @param environment the environment variables
 * @param typed the arguments as they were typed
 */
public record Invocation(Terminal terminal, Map<String, String> environment, TypedWords typed) {

    /** Copies the environment. */
    public Invocation {
        environment = Map.copyOf(environment);
    }

    /** Of arguments that are known as texts only. */
    public Invocation(Terminal terminal, Map<String, String> environment) {
        this(terminal, environment, TypedWords.ofTexts(List.of()));
    }

    /** The bytes of these arguments, from this one on. */
    public TypedWords typed(List<String> arguments, int from) {
        TypedWords all = typed.texts().equals(arguments) ? typed : TypedWords.ofTexts(arguments);
        return all.from(from);
    }
}
