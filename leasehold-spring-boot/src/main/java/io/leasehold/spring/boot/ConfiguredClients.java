package io.leasehold.spring.boot;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.core.env.Environment;

/**
 * Creates the clients of {@code leasehold.*} and of {@code leasehold.clients.*}, and keeps the status of named ones.
 *
 * <p>Any thread may use it.
 */
final class ConfiguredClients {

    /**
     * A named client.
     *
     * @param client the client
     * @param status the status of this client alone
     */
    record Named(LockClient client, LeaseStatus status) {}

    private final LeaseholdProperties properties;
    private final Environment environment;
    private final ObjectProvider<LockListener> listeners;
    private final ListableBeanFactory beans;
    private final Map<String, Named> named = new ConcurrentSkipListMap<>();
    private volatile @Nullable LockClient standard;

    ConfiguredClients(
            LeaseholdProperties properties,
            Environment environment,
            ObjectProvider<LockListener> listeners,
            ListableBeanFactory beans) {
        this.properties = properties;
        this.environment = environment;
        this.listeners = listeners;
        this.beans = beans;
    }

    /** The client without a name. */
    LockClient standard() {
        LockClient connected = connected(StoreOfApplication.PREFIX, properties.client(), listeners.orderedStream());
        standard = connected;
        return connected;
    }

    /** Creates a named client; called once for each, by the definition of its bean. */
    LockClient named(String name) {
        LeaseholdProperties.Client client = properties.clients().get(name);
        if (client == null) {
            throw new IllegalArgumentException("no property is set below leasehold.clients." + name);
        }
        LeaseStatus status = new LeaseStatus();
        // The status of the client without a name is a bean, as other listeners are.
        Stream<LockListener> all = Stream.concat(
                Stream.of(status), listeners.orderedStream().filter(listener -> !(listener instanceof LeaseStatus)));
        LockClient connected = connected(NamedClients.PREFIX + "." + name, client, all);
        named.put(name, new Named(connected, status));
        return connected;
    }

    /**
     * Whether the client without a name reports what it holds to the status. It is unknown of a client of the
     * application's own until its first report.
     */
    boolean reports(LockClient client, LeaseStatus status) {
        return client.equals(standard) || status.isHeard();
    }

    /** The clients created so far, by their names. */
    Map<String, Named> all() {
        return Map.copyOf(named);
    }

    private LockClient connected(String prefix, LeaseholdProperties.Client settings, Stream<LockListener> heard) {
        Leasehold.Builder builder = Leasehold.builder().label(label(settings));
        new StoreOfApplication(prefix, settings, beans).nameTo(builder);
        builder.defaults(standard -> changed(standard, prefix, settings.defaults()));
        settings.require().levels().forEach(builder::require);
        heard.forEach(builder::listener);
        String which = prefix.equals(StoreOfApplication.PREFIX) ? "" : " of " + prefix;
        try {
            return settings.connectLazily() ? builder.connectLazily() : builder.connect();
        } catch (IllegalArgumentException e) {
            throw new NoLockStoreException(
                    "The store for locks" + which + " cannot be used: " + e.getMessage(),
                    "Change " + prefix + ".uri",
                    e);
        } catch (LockStoreException e) {
            throw new NoLockStoreException(
                    "The store for locks" + which + " cannot be used: " + e.getMessage(),
                    "Start it, let this application reach it, or change " + prefix + ".uri and " + prefix + ".require",
                    e);
        }
    }

    /** Changes the options that the store suggests: these depend on its limits. */
    private static LockOptions changed(LockOptions standard, String prefix, LeaseholdProperties.Defaults defaults) {
        try {
            return defaults.set(standard);
        } catch (IllegalArgumentException e) {
            throw new NoLockStoreException(
                    "The properties " + prefix + ".defaults.* conflict: " + e.getMessage(),
                    "Change the properties named above",
                    e);
        }
    }

    private String label(LeaseholdProperties.Client settings) {
        String label = settings.label();
        String name = label != null ? label : environment.getProperty("spring.application.name", "");
        String plain = name.replaceAll("[^A-Za-z0-9._-]", "-");
        return plain.substring(0, Math.min(plain.length(), 64));
    }
}
