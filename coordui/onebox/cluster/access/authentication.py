"""Who sends a request: the administrator's token, a ServiceAccount's, or somebody either may act for."""

from __future__ import annotations

import hmac

from starlette.requests import Request

from .. import errors
from ..authors import MASTERS, User
from .accounts import Accounts
from .authorizer import Authorizer
from .rbac import AUTHENTICATED, Action, account_user

ADMINISTRATOR = User("kubernetes-admin", (MASTERS, AUTHENTICATED))


def bearer(header: str) -> str:
    """The token of an Authorization header; the scheme's letters may be of any case, and the official client's are."""
    scheme, _, token = header.partition(" ")
    return token if scheme.lower() == "bearer" else ""


class Authenticator:
    def __init__(self, token: str, accounts: Accounts, authorizer: Authorizer) -> None:
        self._token, self._accounts, self._authorizer = token.encode(), accounts, authorizer

    def user_of(self, request: Request) -> User:
        """Raises ApiError: 401 for no token or a wrong one, 403 for somebody who may not act for others."""
        user = self.by_token(bearer(request.headers.get("authorization", "")))
        if user is None:
            raise errors.unauthorized()
        if "impersonate-user" in request.headers:
            return self._impersonated(request, user)
        if more := sorted(name for name in request.headers if name.startswith("impersonate-")):
            raise errors.bad_request(f"requested {', '.join(more)} without impersonating a user")
        return user

    def by_token(self, token: str) -> User | None:
        if hmac.compare_digest(token.encode(), self._token):
            return ADMINISTRATOR
        return self._accounts.user_of(token)

    def _impersonated(self, request: Request, user: User) -> User:
        name, groups = request.headers["impersonate-user"], request.headers.getlist("impersonate-group")
        match name.split(":"):
            case ["system", "serviceaccount", namespace, account]:
                self._authorizer.check(user, Action("impersonate", "", "serviceaccounts", namespace, account))
                other = account_user(namespace, account)
            case _:
                self._authorizer.check(user, Action("impersonate", "", "users", name=name))
                other = User(name, (AUTHENTICATED,))
        for group in groups:
            self._authorizer.check(user, Action("impersonate", "", "groups", name=group))
        return User(name, (*groups, AUTHENTICATED)) if groups else other
