package io.leasehold.spring.boot.test;

import io.leasehold.Fairness;
import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.core.env.Environment;

/**
 * The default options of the application's clients, which a client in memory has too: a test then accepts and refuses
 * what the application does.
 *
 * @param defaults those of the client without a name
 * @param clients those of the other clients, by their names
 */
record TestDefaults(
        @DefaultValue Options defaults, @DefaultValue Map<String, Client> clients) {

    static TestDefaults in(Environment environment) {
        return Binder.get(environment).bindOrCreate("leasehold", TestDefaults.class);
    }

    /** The options of the client without a name. */
    LockOptions standard() {
        return defaults.options();
    }

    /** The options of another client. */
    LockOptions of(String name) {
        Client client = clients.get(name);
        return client == null ? LockOptions.defaults() : client.defaults().options();
    }

    /** The properties of one client. */
    record Client(@DefaultValue Options defaults) {}

    /** The options that properties set. */
    record Options(
            @Nullable Duration ttl,
            @Nullable Duration maxHold,
            @Nullable Duration nodeTimeout,
            @Nullable Fairness fairness) {

        LockOptions options() {
            LockOptions options = LockOptions.defaults();
            if (ttl != null) {
                options = options.ttl(ttl);
            }
            if (maxHold != null) {
                options = options.maxHold(maxHold);
            }
            if (nodeTimeout != null) {
                options = options.nodeTimeout(nodeTimeout);
            }
            return fairness == null ? options : options.fairness(fairness);
        }
    }
}
