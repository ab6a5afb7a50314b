//! Bounds on the way to a file, which shares, conditions and `try` have alike.

use std::marker::PhantomData;

use crate::json::Value;
use crate::route::Confinement;
use crate::template::Template;
use crate::validate::context::Context;
use crate::validate::schema::{BOOL, Field, Member, STRING, optional};
use crate::validate::strings::template;

/// A draft of which bounds are a part.
pub(in crate::validate) trait HasConfinement: 'static {
    fn confinement(&mut self) -> &mut Confinement;
}

/// The rows for a draft.
pub(in crate::validate) struct ConfinementTable<D>(PhantomData<D>);

impl<D: HasConfinement> ConfinementTable<D> {
    pub(in crate::validate) const ROWS: &'static [Member<D>] = &[
        optional("chroot", STRING)
            .means("the folder that the path must lie in, and that no link leads out of; may hold variables")
            .read(|cx, field, draft| {
                check_kernel(cx, field);
                let chroot = template(cx, field);
                draft.confinement().chroot = chroot.filter(|chroot| chroot.is_constant() != Some(b""));
            }),
        optional("follow_symlinks", BOOL)
            .default("`true`")
            .means("`false`: a symbolic link on the way is 403; for `match.file` and `try` nothing is there")
            .read(|cx, field, draft| {
                check_kernel(cx, field);
                draft.confinement().follow_symlinks = *field.value == Value::Bool(true);
            }),
        optional("traverse_mounts", BOOL)
            .default("`true`")
            .means("`false`: another mount on the way is 403; for `match.file` and `try` nothing is there")
            .read(|cx, field, draft| {
                check_kernel(cx, field);
                draft.confinement().traverse_mounts = *field.value == Value::Bool(true);
            }),
    ];
}

fn check_kernel(cx: &mut Context<'_>, field: Field<'_>) {
    if !cx.known.confinement {
        cx.problem(format!("Unit is built without the \"{}\" option support.", field.name));
    }
}

/// A client that says where a path begins would be told of any file that the router can read. `name` is the option that
/// has the paths.
pub(in crate::validate) fn check_beginnings(
    cx: &mut Context<'_>,
    name: &str,
    paths: &[Template],
    confinement: &Confinement,
) {
    if confinement.chroot.as_ref().is_some_and(Template::begins_with_client_value) {
        cx.problem("The \"chroot\" value must not begin with what the client sends: begin it with a folder.");
    }
    if confinement.chroot.is_none() && paths.iter().any(Template::begins_with_client_value) {
        cx.problem(format!(
            "The \"{name}\" value must not begin with what the client sends: begin it with a folder, or set \"chroot\"."
        ));
    }
}
