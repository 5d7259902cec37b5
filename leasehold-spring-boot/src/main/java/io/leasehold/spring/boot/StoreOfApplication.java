package io.leasehold.spring.boot;

import io.leasehold.Leasehold;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/**
 * Finds the store for the locks of a client: the configured URI, or the configured database or Redis of the
 * application. If none is configured, the client without a name uses the only database or Redis of the application; if
 * there are several, it does not choose.
 */
final class StoreOfApplication {

    /** The prefix of the client without a name. */
    static final String PREFIX = "leasehold";

    private final String prefix;
    private final LeaseholdProperties.Client properties;
    private final ListableBeanFactory beans;

    /**
     * Creates the finder.
     *
     * @param prefix the prefix of the client's property names
     */
    StoreOfApplication(String prefix, LeaseholdProperties.Client properties, ListableBeanFactory beans) {
        this.prefix = prefix;
        this.properties = properties;
        this.beans = beans;
    }

    /** Whether there is a store for a client without a name, or a choice of stores. */
    static boolean isThereOne(Environment environment, ListableBeanFactory beans) {
        Binder properties = Binder.get(environment);
        return Stream.of("uri", "jdbc.datasource")
                        .anyMatch(name -> properties
                                .bind(PREFIX + "." + name, String.class)
                                .map(text -> !text.isBlank())
                                .orElse(false))
                || properties
                        .bind(PREFIX + ".redis.reuse-connection-factory", Boolean.class)
                        .orElse(false)
                || !databases(beans).isEmpty()
                || !redis(beans).isEmpty();
    }

    private static List<String> databases(ListableBeanFactory beans) {
        return present(beans, "javax.sql.DataSource", "io.leasehold.jdbc.JdbcStores");
    }

    private static List<String> redis(ListableBeanFactory beans) {
        return present(
                beans,
                "org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory",
                "io.leasehold.redis.RedisStore");
    }

    /**
     * Sets the store at the builder.
     *
     * @throws NoLockStoreException if there is none, or more than one
     */
    void nameTo(Leasehold.Builder builder) {
        String uri = properties.uri();
        String datasource = properties.jdbc().datasource();
        List<String> databases = databases(beans);
        List<String> redis = redis(beans);
        if (uri != null && !uri.isBlank()) {
            builder.store(uri);
        } else if (datasource != null && !datasource.isBlank()) {
            require(
                    databases.contains(datasource),
                    prefix + ".jdbc.datasource is \"" + datasource + "\", and the DataSource beans are " + databases,
                    "leasehold-jdbc");
            DataSourceStore.nameTo(builder, beans, datasource);
        } else if (properties.redis().reuseConnectionFactory()) {
            require(
                    !redis.isEmpty(),
                    prefix + ".redis.reuse-connection-factory is true, and there is no LettuceConnectionFactory",
                    "leasehold-redis");
            LettuceStore.nameTo(builder, beans);
        } else if (!prefix.equals(PREFIX)) {
            throw new NoLockStoreException(prefix + " names no store for locks", sayWhich(), null);
        } else if (databases.size() == 1 && redis.isEmpty()) {
            DataSourceStore.nameTo(builder, beans, databases.get(0));
        } else if (databases.isEmpty() && !redis.isEmpty()) {
            LettuceStore.nameTo(builder, beans);
        } else {
            List<String> found = new ArrayList<>(databases);
            found.addAll(redis);
            throw new NoLockStoreException(
                    found.isEmpty()
                            ? "There is no store for locks: leasehold.uri is not set, and there is neither a DataSource with leasehold-jdbc"
                                    + " nor a LettuceConnectionFactory with leasehold-redis"
                            : "Locks could be kept at each of " + found + ", and no property selects one",
                    sayWhich(),
                    null);
        }
    }

    private String sayWhich() {
        return "Set " + prefix + ".uri (redis://…, jdbc:postgresql://…, memory: in tests), " + prefix
                + ".jdbc.datasource to the name of a DataSource bean, or " + prefix
                + ".redis.reuse-connection-factory to true";
    }

    private void require(boolean there, String otherwise, String artefact) {
        if (!there) {
            throw new NoLockStoreException(
                    otherwise,
                    "Declare that bean, and put " + artefact + " on the class path, or set " + prefix + ".uri",
                    null);
        }
    }

    /** The names of the beans of a type, if the type and the module that supports it are on the class path. */
    private static List<String> present(ListableBeanFactory beans, String type, String store) {
        ClassLoader loader = StoreOfApplication.class.getClassLoader();
        if (!ClassUtils.isPresent(store, loader) || !ClassUtils.isPresent(type, loader)) {
            return List.of();
        }
        // Behind the proxy of a scope (@RefreshScope), each bean has a second definition.
        return Arrays.stream(beans.getBeanNamesForType(ClassUtils.resolveClassName(type, loader), true, false))
                .filter(name -> !ScopedProxyUtils.isScopedTarget(name))
                .toList();
    }
}
