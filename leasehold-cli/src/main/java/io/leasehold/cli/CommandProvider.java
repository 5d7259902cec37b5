package io.leasehold.cli;

import java.util.List;
import java.util.OptionalInt;
import java.util.function.ToIntFunction;

/** Adds commands to the program; found by {@link java.util.ServiceLoader}. */
public interface CommandProvider {

    /** The commands for this start of the program, annotated for picocli; the help lists them in this order. */
    List<Object> commands(Invocation invocation, StoreOption store);

    /**
     * Starts a server, runs the action with its URI, and stops the server; to prepare fast starts.
     *
     * @return the result of the action; empty, without a run of the action, if no server can be started
     */
    OptionalInt withServer(ToIntFunction<String> action);
}
