package io.leasehold.spring;

import io.leasehold.jdbc.SqlFencingGuard;
import jakarta.persistence.Column;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Table;
import jakarta.persistence.metamodel.Attribute;
import jakarta.persistence.metamodel.EmbeddableType;
import jakarta.persistence.metamodel.EntityType;
import jakarta.persistence.metamodel.ManagedType;
import jakarta.persistence.metamodel.SingularAttribute;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringUtils;

/**
 * Finds entities whose mapping writes a column of fencing tokens: if an entity was loaded before the guard wrote the
 * newest token, it writes the old token back with its other columns.
 *
 * <p>It knows the guards that are beans, and those in fields of beans. It takes the names of columns and tables from
 * annotations, or derives them from attributes and classes as the usual naming strategies do; it does not see mappings
 * in {@code orm.xml}.
 */
final class TokenColumns {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.spring");

    private static final boolean PRESENT = Stream.of(
                    "jakarta.persistence.EntityManagerFactory", "io.leasehold.jdbc.SqlFencingGuard")
            .allMatch(type -> ClassUtils.isPresent(type, TokenColumns.class.getClassLoader()));

    /** With this annotation only changed columns are written; named by a string, since it is Hibernate's. */
    private static final String WRITES_CHANGES = "org.hibernate.annotations.DynamicUpdate";

    private TokenColumns() {}

    static List<LintFinding> writtenByEntities(ConfigurableListableBeanFactory beans) {
        return PRESENT ? OfJpa.findings(beans) : List.of();
    }

    /** A separate class, since it cannot be linked without JPA. */
    private static final class OfJpa {

        private OfJpa() {}

        static List<LintFinding> findings(ConfigurableListableBeanFactory beans) {
            List<EntityManagerFactory> factories = made(beans, EntityManagerFactory.class);
            List<SqlFencingGuard> guards = factories.isEmpty() ? List.of() : guards(beans);
            if (guards.isEmpty()) {
                return List.of();
            }
            Map<String, LintFinding> findings = new LinkedHashMap<>();
            for (EntityManagerFactory factory : factories) {
                try {
                    factory.getMetamodel().getEntities().forEach(entity -> find(entity, guards, findings));
                } catch (LinkageError | RuntimeException e) {
                    LOG.debug("the entities of {} cannot be inspected", factory, e);
                }
            }
            return List.copyOf(findings.values());
        }

        private static void find(
                EntityType<?> entity, List<SqlFencingGuard> guards, Map<String, LintFinding> findings) {
            if (entity.getJavaType() == null) {
                return; // one of Hibernate's map entities
            }
            written(
                    entity,
                    entity.getJavaType(),
                    attribute -> guards.stream()
                            .filter(guard -> isTable(guard, entity))
                            .flatMap(guard -> columns(guard)
                                    .filter(column -> isColumn(column, attribute))
                                    .map(column -> finding(entity, attribute, guard, column)))
                            .findFirst()
                            .ifPresent(finding ->
                                    findings.putIfAbsent(entity.getName() + "." + attribute.getName(), finding)));
        }

        private static LintFinding finding(
                EntityType<?> entity, Attribute<?, ?> attribute, SqlFencingGuard guard, String column) {
            return new LintFinding(
                    "The entity " + entity.getJavaType().getSimpleName(),
                    "writes the fencing token " + column + " of " + guard.table() + " by its attribute "
                            + attribute.getName()
                            + ": if it was loaded before the guard wrote the newest token, it writes the old token back",
                    "Map it with @Column(insertable = false, updatable = false)");
        }

        /** The beans that already exist; the check creates none. */
        private static <T> List<T> made(ConfigurableListableBeanFactory beans, Class<T> type) {
            return Arrays.stream(beans.getBeanNamesForType(type, false, false))
                    .filter(beans::containsSingleton)
                    .map(name -> beans.getBean(name, type))
                    .toList();
        }

        private static List<SqlFencingGuard> guards(ConfigurableListableBeanFactory beans) {
            List<SqlFencingGuard> guards = new ArrayList<>(made(beans, SqlFencingGuard.class));
            for (String name : beans.getBeanDefinitionNames()) {
                Object bean = beans.getSingleton(name);
                if (bean != null) {
                    addFieldsOf(bean, guards);
                }
            }
            return guards;
        }

        private static void addFieldsOf(Object bean, List<SqlFencingGuard> guards) {
            Object target = Objects.requireNonNullElse(AopProxyUtils.getSingletonTarget(bean), bean);
            try {
                ReflectionUtils.doWithFields(
                        AopProxyUtils.ultimateTargetClass(bean),
                        field -> guards.add(guardIn(field, target)),
                        field -> field.getType() == SqlFencingGuard.class
                                && (Modifier.isStatic(field.getModifiers())
                                        || field.getDeclaringClass().isInstance(target)));
                guards.removeIf(Objects::isNull);
            } catch (LinkageError | RuntimeException e) {
                // A class with fields of missing types, or a module that does not open them.
                LOG.debug("the fields of {} cannot be inspected", bean.getClass(), e);
            }
        }

        private static SqlFencingGuard guardIn(Field field, Object target) {
            ReflectionUtils.makeAccessible(field);
            return (SqlFencingGuard) ReflectionUtils.getField(field, target);
        }

        /** Passes on the attributes whose columns an update of the entity writes. */
        private static void written(ManagedType<?> type, Class<?> entity, Consumer<Attribute<?, ?>> each) {
            if (has(entity, WRITES_CHANGES)) {
                return;
            }
            for (Attribute<?, ?> attribute : type.getAttributes()) {
                if (attribute instanceof SingularAttribute<?, ?> single
                        && single.getType() instanceof EmbeddableType<?> embedded) {
                    written(embedded, entity, each);
                } else if (column(attribute).updatable()) {
                    each.accept(attribute);
                }
            }
        }

        private static boolean has(Class<?> type, String annotation) {
            return Stream.of(type.getAnnotations())
                    .map(Annotation::annotationType)
                    .anyMatch(one -> one.getName().equals(annotation));
        }

        /** All that the guard writes: also one of the two for readers, written alone, may let a late reader in. */
        private static Stream<String> columns(SqlFencingGuard guard) {
            return Stream.of(Optional.of(guard.tokenColumn()), guard.writerColumn(), guard.writerAtColumn())
                    .flatMap(Optional::stream);
        }

        private static boolean isColumn(String column, Attribute<?, ?> attribute) {
            String name = column(attribute).name();
            return same(column, name.isEmpty() ? attribute.getName() : name);
        }

        private static boolean isTable(SqlFencingGuard guard, EntityType<?> entity) {
            return tables(entity).anyMatch(table -> same(unqualified(guard.table()), unqualified(table)));
        }

        /** The table of the entity, and those of the entities that it extends. */
        private static Stream<String> tables(EntityType<?> entity) {
            Stream<String> above = Stream.<Class<?>>iterate(
                            entity.getJavaType(), Objects::nonNull, Class::getSuperclass)
                    .map(type -> type.getAnnotation(Table.class) == null
                            ? type.getSimpleName()
                            : type.getAnnotation(Table.class).name())
                    .filter(StringUtils::hasText);
            return Stream.concat(Stream.of(entity.getName()), above);
        }

        private static String unqualified(String table) {
            return table.substring(table.lastIndexOf('.') + 1);
        }

        /**
         * Whether two names are equal to naming strategies, which write {@code fencing_token} or {@code FENCINGTOKEN}
         * for {@code fencingToken}.
         */
        private static boolean same(String one, String other) {
            return plain(one).equals(plain(other));
        }

        private static String plain(String name) {
            return name.replaceAll("[_\"`\\[\\]]", "").toLowerCase(Locale.ROOT);
        }

        private static Mapping column(Attribute<?, ?> attribute) {
            Column column = attribute.getJavaMember() instanceof AnnotatedElement member
                    ? member.getAnnotation(Column.class)
                    : null;
            return column == null ? new Mapping("", true) : new Mapping(column.name(), column.updatable());
        }
    }

    /**
     * The content of {@code @Column}.
     *
     * @param name the name, or empty
     * @param updatable whether an update of the row writes it
     */
    private record Mapping(String name, boolean updatable) {}
}
