package io.leasehold.demo;

import io.leasehold.cli.CommandProvider;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.demo.actor.ActorCommand;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerException;
import io.leasehold.servers.ServerUnavailableException;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.ToIntFunction;

/** Adds the demonstrations to the command line, and the commands that their processes run. */
public final class DemoCommands implements CommandProvider {

    @Override
    public List<Object> commands(Invocation invocation, StoreOption store) {
        return List.of(new DemoCommand(invocation, store), new DemoWorkerCommand(store), new ActorCommand(invocation));
    }

    @Override
    public OptionalInt withServer(ToIntFunction<String> action) {
        try (RedisServer server = RedisServer.start()) {
            return OptionalInt.of(action.applyAsInt(server.uri()));
        } catch (ServerException | ServerUnavailableException noServerHere) {
            return OptionalInt.empty();
        }
    }
}
