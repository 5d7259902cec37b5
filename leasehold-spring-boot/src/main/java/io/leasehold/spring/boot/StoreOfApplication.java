package io.leasehold.spring.boot;

import io.leasehold.Leasehold;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.util.ClassUtils;

/**
 * Finds the place for locks: the URI that is set, else a database or a Redis of the application. Where both are there and nothing is set, it
 * does not choose.
 */
final class StoreOfApplication {

    private static final String SAY_WHICH =
            "Set leasehold.uri (redis://…, jdbc:postgresql://…, memory: in tests), leasehold.jdbc.datasource to the name of a DataSource bean, or"
                    + " leasehold.redis.reuse-connection-factory to true";

    private final LeaseholdProperties properties;
    private final ListableBeanFactory beans;

    StoreOfApplication(LeaseholdProperties properties, ListableBeanFactory beans) {
        this.properties = properties;
        this.beans = beans;
    }

    /** @throws NoLockStoreException if there is none, or more than one */
    void nameTo(Leasehold.Builder builder) {
        String uri = properties.uri();
        String datasource = properties.jdbc().datasource();
        List<String> databases = present("javax.sql.DataSource", "io.leasehold.jdbc.JdbcStores");
        List<String> redis = present(
                "org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory",
                "io.leasehold.redis.RedisStore");
        if (uri != null && !uri.isBlank()) {
            builder.store(uri);
        } else if (datasource != null && !datasource.isBlank()) {
            require(
                    databases.contains(datasource),
                    "leasehold.jdbc.datasource is \"" + datasource + "\", and the DataSource beans are " + databases,
                    "leasehold-jdbc");
            DataSourceStore.nameTo(builder, beans, datasource);
        } else if (properties.redis().reuseConnectionFactory()) {
            require(
                    !redis.isEmpty(),
                    "leasehold.redis.reuse-connection-factory is true, and there is no LettuceConnectionFactory",
                    "leasehold-redis");
            LettuceStore.nameTo(builder, beans);
        } else if (databases.size() == 1 && redis.isEmpty()) {
            DataSourceStore.nameTo(builder, beans, databases.get(0));
        } else if (databases.isEmpty() && !redis.isEmpty()) {
            LettuceStore.nameTo(builder, beans);
        } else {
            List<String> found = new ArrayList<>(databases);
            found.addAll(redis);
            throw new NoLockStoreException(
                    found.isEmpty()
                            ? "There is no place for locks: leasehold.uri is not set, and there is neither a DataSource with leasehold-jdbc"
                                    + " nor a LettuceConnectionFactory with leasehold-redis"
                            : "Locks could be kept at each of " + found + ", and nothing says where",
                    SAY_WHICH,
                    null);
        }
    }

    private static void require(boolean there, String otherwise, String artefact) {
        if (!there) {
            throw new NoLockStoreException(
                    otherwise,
                    "Declare that bean, and have " + artefact + " on the class path, or set leasehold.uri",
                    null);
        }
    }

    /** The names of the beans of a type, where it and what makes a store of it are on the class path. */
    private List<String> present(String type, String store) {
        ClassLoader loader = getClass().getClassLoader();
        if (!ClassUtils.isPresent(store, loader) || !ClassUtils.isPresent(type, loader)) {
            return List.of();
        }
        return Arrays.asList(beans.getBeanNamesForType(ClassUtils.resolveClassName(type, loader)));
    }
}
